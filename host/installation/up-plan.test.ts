import { describe, expect, it } from 'vitest';
import { parseBerthProcess } from '../processes/berth-processes.ts';
import { decideRescue, decideRunning, type Running } from '../processes/processes.ts';
import { decideUp, type UpPlan } from './up-plan.ts';
import { computeSettings, ignoredFlags, printFlags, settingsErrors } from './up-settings.ts';

const some = { pid: 1, name: 'server', isKeeper: false, dataDir: '/d', nodeName: undefined } as const;
const kept: Running = { keeper: some, process: some };
const waiting: Running = { keeper: some, process: undefined };
const orphan: Running = { keeper: undefined, process: some };
const none: Running = { keeper: undefined, process: undefined };
const ours = { version: '1.0.0', build: 'a' };
const upgrading = { isUpgrade: true, advertises: false, ours };

describe('what "berth up" does', () => {
  it.each<[string, Running, Running, readonly string[], UpPlan]>([
    ['starts both when nothing runs', none, none, [], { kind: 'start' }],
    ['does nothing when both run', kept, kept, ['1.0.0', '1.0.0'], { kind: 'running', versions: ['1.0.0'], isOtherBuild: false }],
    [
      'does nothing while a crashed one waits to be started again',
      waiting,
      kept,
      ['1.0.0'],
      { kind: 'running', versions: ['1.0.0'], isOtherBuild: false },
    ],
    ['starts the agent when only the server runs', kept, none, [], { kind: 'mend', start: ['agent'], rescue: [] }],
    ['starts the server when only the agent runs', none, kept, [], { kind: 'mend', start: ['server'], rescue: [] }],
    ['finds a keeper for one that has lost its own', orphan, kept, [], { kind: 'mend', start: [], rescue: ['server'] }],
    ['does both at once', orphan, none, [], { kind: 'mend', start: ['agent'], rescue: ['server'] }],
    [
      'leaves another version alone',
      kept,
      kept,
      ['0.9.0', '0.9.0'],
      { kind: 'running', versions: ['0.9.0'], isOtherBuild: false },
    ],
  ])('%s', (_, server, agent, versions, plan) => {
    const builds = versions.map((version) => ({ version, build: 'a' }));
    expect(decideUp({ server, agent }, { isUpgrade: false, advertises: false, builds, ours })).toEqual(plan);
  });

  it('takes no agent of another node for its own, though that shares the data directory', () => {
    const agent = (pid: number, nodeName: string, isKeeper = false) => ({
      ...some,
      pid,
      name: 'agent' as const,
      nodeName,
      isKeeper,
    });
    const [other, own] = [agent(2, 'n2'), agent(3, 'n1')];
    expect(decideRunning([some, other], 'n1')).toEqual({ server: orphan, agent: none });
    expect(decideRunning([some, other, own], 'n1').agent).toEqual({ keeper: undefined, process: own });
    expect(decideRunning([other, agent(4, 'n1', true)], 'n1').agent.process).toBeUndefined();
    expect(decideRunning([other], undefined).agent.process).toBe(other);
  });

  it('replaces another version only when it is asked to, also one that runs in part', () => {
    const decide = (versions: readonly string[], server = kept, agent = kept) =>
      decideUp({ server, agent }, { ...upgrading, builds: versions.map((version) => ({ version, build: 'a' })) });
    expect(decide(['0.9.0'])).toEqual({ kind: 'upgrade', from: '0.9.0' });
    expect(decide(['0.9.0'], kept, none)).toEqual({ kind: 'upgrade', from: '0.9.0' });
    expect(decide(['0.9.0', '1.0.0']).kind).toBe('upgrade');
    expect(decide(['1.0.0']).kind).toBe('running');
    expect(decide([], none, none).kind).toBe('start');
  });

  it.each([
    ['another build', ['b', 'b'], 'a', true],
    ['an agent of another build', ['a', 'b'], 'a', true],
    ['builds that do not tell', ['', ''], 'a', true],
    ['the same build', ['a', 'a'], 'a', false],
    ['some build with a program that has none', ['b', 'b'], '', false],
  ])('tells %s of its version, and replaces it when it is asked to', (_, built, ourBuild, isOtherBuild) => {
    const builds = built.map((build) => ({ version: '1.0.0', build }));
    const wish = { ...upgrading, builds, ours: { ...ours, build: ourBuild } };
    const running = { kind: 'running', versions: ['1.0.0'], isOtherBuild };
    expect(decideUp({ server: kept, agent: kept }, { ...wish, isUpgrade: false })).toEqual(running);
    const upgrade = { kind: 'upgrade', from: 'another build of 1.0.0' };
    expect(decideUp({ server: kept, agent: kept }, wish)).toEqual(isOtherBuild ? upgrade : running);
  });

  it('gives a keeper only to what "up" started and was not stopped', () => {
    expect(decideRescue({ isArmed: true, hasKeeper: false })).toBe(true);
    expect(decideRescue({ isArmed: true, hasKeeper: true })).toBe(false);
    expect(decideRescue({ isArmed: false, hasKeeper: false })).toBe(false);
  });
});

describe('the settings of an installation', () => {
  const before = { listen: '0.0.0.0:7443', nodeName: 'web', advertise: 'web.example', sandboxImage: undefined };

  it('are those given, else those of the last start', () => {
    expect(computeSettings({}, before)).toEqual(before);
    expect(computeSettings({ listen: '127.0.0.1:1', nodeName: 'db' }, before)).toEqual({
      ...before,
      listen: '127.0.0.1:1',
      nodeName: 'db',
    });
    expect(computeSettings({}, undefined).listen).toBe('127.0.0.1:7443');
    const configured = { ...before, schedulerConfig: '/etc/berth/scheduler.yaml' };
    expect(computeSettings({}, configured)).toEqual(configured);
    expect(computeSettings({ schedulerConfig: '' }, configured).schedulerConfig).toBeUndefined();
  });

  it('that a running one does not have are named, and can be typed again', () => {
    const given = { listen: '127.0.0.1:1', nodeName: 'web', sandboxImage: 'pause:9' };
    expect(ignoredFlags(given, before)).toEqual([
      '--listen 127.0.0.1:1 (it runs with 0.0.0.0:7443)',
      '--sandbox-image pause:9 (it runs with none)',
    ]);
    expect(ignoredFlags({}, before)).toEqual([]);
    expect(ignoredFlags({ metricsAddress: 'off', history: '24h', historySize: '512Mi' }, before)).toEqual([
      '--metrics-address off (it runs with 127.0.0.1:7444 or, if that was taken, a free port)',
      '--history 24h (it runs with 1h)',
    ]);
    expect(ignoredFlags({ schedulerConfig: '/b.yaml' }, before)).toEqual(['--scheduler-config /b.yaml (it runs with none)']);
    expect(ignoredFlags({ schedulerConfig: '' }, { ...before, schedulerConfig: '/b.yaml' })).toEqual([
      '--scheduler-config "" (it runs with /b.yaml)',
    ]);
    expect(printFlags({ schedulerConfig: '' })).toBe(' --scheduler-config ""');
    expect(printFlags({ schedulerConfig: "/my file's.yaml" })).toBe(` --scheduler-config '/my file'\\''s.yaml'`);
    expect(printFlags(given)).toBe(' --listen 127.0.0.1:1 --node-name web --sandbox-image pause:9');
  });

  it.each([
    ['--listen', { listen: '7443' }],
    ['--listen', { listen: '127.0.0.1:0' }],
    ['--listen', { listen: '127.0.0.1:70000' }],
    ['--listen', { listen: '::1:7443' }],
    ['--listen', { listen: 'https://127.0.0.1:7443' }],
    ['--advertise', { advertise: 'web:7443' }],
    ['--node-name', { nodeName: 'Web_1' }],
    ['--sandbox-image', { sandboxImage: 'two words' }],
    ['--metrics-address', { metricsAddress: '7444' }],
    ['--history', { history: 'long' }],
    ['--history-size', { historySize: '1Ki' }],
    ['--agent-metrics-address', { agentMetricsAddress: 'none' }],
  ])('are refused with the name of the flag: %s %o', (flag, given) => {
    expect(settingsErrors(given)).toEqual([expect.stringContaining(flag)]);
  });

  it('may be any address and port', () => {
    for (const listen of ['127.0.0.1:7443', '[::1]:7443', 'web.example:443', '0.0.0.0:65535'])
      expect(settingsErrors({ listen, advertise: '::1', nodeName: 'web.example' })).toEqual([]);
    expect(settingsErrors({ metricsAddress: '0.0.0.0:9100', agentMetricsAddress: 'off' })).toEqual([]);
  });
});

describe('the processes of Berth', () => {
  const agent = ['/usr/bin/node', '/opt/berth/bin/berth', 'agent', '--data-dir', '/d', '--node-name', 'web'];

  it('are known by their command lines, with their data directories and node names', () => {
    expect(parseBerthProcess(7, agent, 0)).toEqual({ pid: 7, name: 'agent', isKeeper: false, dataDir: '/d', nodeName: 'web' });
    const keeper = ['/bin/sh', '/opt/berth/bin/berth-supervise', '/d/run', 'agent', '/d/log', ...agent];
    expect(parseBerthProcess(8, keeper, 0)).toMatchObject({ name: 'agent', isKeeper: true, dataDir: '/d' });
    const byHand = ['node', 'bin/berth', '--context', 'x', 'server', '--data-dir=/e'];
    expect(parseBerthProcess(9, byHand, 0)).toMatchObject({
      name: 'server',
      isKeeper: false,
      dataDir: '/e',
      nodeName: undefined,
    });
    expect(parseBerthProcess(9, ['node', 'bin/berth', 'server'], 0)?.dataDir).toBe('/var/lib/berth');
  });

  it.each([
    [['node', 'bin/berth', 'up', '--data-dir', '/d']],
    [['node', 'bin/berth', 'get', 'pods', 'server']],
    [['vim', 'berth', 'notes']],
    [['grep', '-r', 'server', 'berth']],
    [['/bin/sh']],
  ])('are not %o', (words) => {
    expect(parseBerthProcess(7, words, 0)).toBeUndefined();
  });
});
