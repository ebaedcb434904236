import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from './installation.ts';
import { createPodHouse, image, type PodHouse } from './pods-fixture.ts';
import { openTerminal } from './pty.ts';

const launcher = fileURLToPath(new URL('../../bin/berth', import.meta.url));
let house: PodHouse;

const container = (name: string, script: string, more: object = {}) => ({
  name,
  image,
  imagePullPolicy: 'Never',
  command: ['sh', '-c', script],
  ...more,
});
const pod = (name: string, labels: object, containers: object[], spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels },
  spec: { terminationGracePeriodSeconds: 0, restartPolicy: 'Never', containers, ...spec },
});

/** Counts on both streams until it is told to stop. */
const counter =
  'i=0; while [ ! -e /stop ]; do i=$((i+1)); echo "line $i"; echo $i > /new; mv /new /reached; [ $((i % 5)) = 0 ] && echo "err $i" >&2; usleep 10000; done; echo last';

/**
 * A line, and after a word 90 MB, three times as much as the engine keeps, as fast as it takes them;
 * after another word some more.
 */
const torrent =
  'awk \'BEGIN { pad = sprintf("%990s", ""); for (i = 2; i <= 90000; i++) print i, pad }\'; touch /written; while [ ! -e /stop ]; do usleep 10000; done; seq 90001 90100';

beforeAll(async () => {
  house = await createPodHouse('logs');
  await house.apply(
    pod('torrent', {}, [container('app', `echo 1; while [ ! -e /start ]; do usleep 10000; done; ${torrent}`)]),
    pod('count', {}, [container('app', counter)]),
    pod(
      'again',
      {},
      [
        container('app', '[ -e /data/second ] && { echo second; exec sleep 1000; }; touch /data/second; echo first; exit 1', {
          volumeMounts: [{ name: 'data', mountPath: '/data' }],
        }),
      ],
      { restartPolicy: 'Always', volumes: [{ name: 'data', emptyDir: {} }] },
    ),
    pod('a', { app: 'fleet' }, [container('web', 'seq 1 20'), container('side', 'echo side of a')]),
    pod('b', { app: 'fleet' }, [container('web', 'echo only; printf unfinished')]),
    pod('missing', {}, [container('app', 'true', { image: 'no-such-image:1' })]),
    pod('nowhere', {}, [container('app', 'true')], { nodeSelector: { no: 'such-node' } }),
    pod('long', {}, [container('app', 'head -c 100000 /dev/zero | tr "\\\\0" x; echo; echo short')]),
  );
  await house.running('count');
  for (const name of ['a', 'b', 'long']) await house.until(name, 'it has ended', ({ status }) => status.phase === 'Succeeded');
});
afterAll(async () => house?.berth.purge());

interface Follower {
  readonly child: ChildProcess;
  output(): string;
  readonly ended: Promise<number | null>;
}

function follow(...args: string[]): Follower {
  const env = { ...process.env, BERTH_CONFIG: house.berth.config };
  const child = spawn(process.execPath, [launcher, 'logs', '-f', ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (data: Buffer) => (output += data));
  return { child, output: () => output, ended: new Promise((resolve) => child.on('close', resolve)) };
}

interface Hole {
  readonly after: string;
  readonly before: string;
}

/** Follows a log of numbered lines and keeps only what is between them. */
function followNumbers(name: string) {
  const env = { ...process.env, BERTH_CONFIG: house.berth.config };
  const args = [launcher, 'logs', '-f', name, '--timestamps'];
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const seen = { first: 0, last: 0, lines: 0, wrong: [] as string[], holes: [] as Hole[], told: [] as Hole[], words: '' };
  let lastTime = '';
  let rest = '';
  child.stderr.on('data', (data: Buffer) => (seen.words += data));
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve)).then((code) => {
    for (const [, after = '', before = ''] of seen.words.matchAll(
      /^warning: lines written between (\S+) and (\S+) may be missing: .*\n/gm,
    ))
      seen.told.push({ after, before });
    return code;
  });
  const add = (line: string): void => {
    const [, time = '', digits = ''] = /^(\S+Z) (\d+) *$/.exec(line) ?? [];
    const number = Number(digits);
    if (number <= seen.last) seen.wrong.push(line.trimEnd());
    if (seen.last > 0 && number > seen.last + 1) seen.holes.push({ after: lastTime, before: time });
    seen.first ||= number;
    [seen.last, lastTime] = [number, time];
    seen.lines++;
  };
  child.stdout.on('data', (data: Buffer) => {
    const lines = (rest + data.toString()).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) add(line);
  });
  return { child, seen, ended };
}

/** Ends a pod's only container, which mostly ends this command with it. */
async function stop(name: string): Promise<void> {
  const { code, stderr } = await house.berth.berth(['exec', name, '--', 'sh', '-c', 'touch /stop']);
  if (code !== 0 && code !== 137) throw new Error(`touch /stop in ${name} ended with ${code}: ${stderr}`);
}

/** How far a follower has come. */
const lastLine = (text: string): number => Number([...text.matchAll(/^line (\d+)$/gm)].at(-1)?.[1] ?? 0);

describe('logs -f', () => {
  it('goes on after kill -9 of the server and of the agent, every line once, and ends with the container', async () => {
    const whole = follow('count');
    const stamped = follow('count', '--timestamps', '--tail=1');
    const terminal = await openTerminal(house.berth);
    // What comes is kept in a file, which tells when the log is open: what fails before that is an error,
    // as it should be.
    const seen = join(dirname(house.berth.config), 'seen-at-the-terminal');
    terminal.type(`berth logs -f count --tail=0 | tee ${seen} | tail -n 1\n`);
    await eventually('the terminal follows the log', async () => (lastLine(readFileSync(seen, 'utf8')) > 0 ? true : undefined));
    for (const name of ['server', 'agent'] as const) {
      await eventually('the log is followed', async () =>
        lastLine(whole.output()) > 0 && lastLine(stamped.output().replaceAll(/^\S+ /gm, '')) > 0 ? true : undefined,
      );
      process.kill(house.berth.pid(name), 'SIGKILL');
      // The count goes on meanwhile: a number that was reached only now comes over the new connection.
      const reached = await eventually(`the ${name} is back`, async () => Number(await house.sh('count', 'cat /reached')));
      await eventually(`the log goes on after the ${name} was killed`, async () =>
        lastLine(whole.output()) > reached && stamped.output().includes(` line ${reached}\n`) ? true : undefined,
      );
    }
    await stop('count');
    expect(await whole.ended).toBe(0);
    expect(await stamped.ended).toBe(0);

    const lines = whole.output().split('\n');
    const counted = lines.filter((line) => line.startsWith('line '));
    const errors = lines.filter((line) => line.startsWith('err '));
    expect(counted.length).toBeGreaterThan(200);
    expect(counted).toEqual(counted.map((_, i) => `line ${i + 1}`));
    expect(errors).toEqual(errors.map((_, i) => `err ${5 * (i + 1)}`));
    expect(errors).toHaveLength(Math.floor(counted.length / 5));
    expect(lines.length).toBe(counted.length + errors.length + 2);
    expect(lines.slice(-2)).toEqual(['last', '']);
    // The whole log, as the node has it, is what was followed.
    expect(await house.berth.ok('logs', 'count')).toBe(whole.output());
    const times = stamped.output().trimEnd().split('\n');
    for (const line of times) expect(line).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z (line|err) \d+$|Z last$/);
    const wholeStamped = await house.berth.ok('logs', 'count', '--timestamps');
    expect(wholeStamped.endsWith(stamped.output())).toBe(true);

    // A person at a terminal is told, once for each loss.
    await terminal.until(/note: .*; the log goes on as soon as that is mended\n/);
    await terminal.until('note: the log goes on\n');
    await terminal.until('last\n');
    terminal.close();
  });

  it('tells a reader that is too slow between which lines some are missing, and gives every other line once', async () => {
    await house.running('torrent');
    const [slow, quick] = [followNumbers('torrent'), followNumbers('torrent')];
    await eventually('both follow', async () => (slow.seen.lines + quick.seen.lines === 2 ? true : undefined));
    slow.child.stdout.pause();
    await house.sh('torrent', 'touch /start');
    await eventually('all is written', async () => house.sh('torrent', 'test -e /written && echo yes').catch(() => undefined));
    slow.child.stdout.resume();
    await eventually('the slow one goes on', async () => (slow.seen.lines > 1 ? true : undefined));
    await stop('torrent');
    for (const { seen, ended } of [slow, quick]) {
      expect(await ended).toBe(0);
      expect(seen.wrong).toEqual([]);
      expect([seen.first, seen.last]).toEqual([1, 90_100]);
      expect(seen.told).toEqual(seen.holes);
    }
    expect(slow.seen.holes.length).toBeGreaterThan(0);
    expect(slow.seen.words.match(/\n/g)).toHaveLength(slow.seen.holes.length);
  });

  it('says what a container waits for that has not started', async () => {
    const { code, stderr } = await house.berth.berth(['logs', '-f', 'missing']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: container "app" in pod "missing" is waiting to start: \w+\n$/);
    expect(await house.berth.berth(['logs', 'nowhere'])).toMatchObject({
      code: 1,
      stderr: 'error: pod "nowhere" is not yet assigned to a node\n',
    });
  });

  it('follows several pods at once, by whole lines, and at most as many as wanted', async () => {
    const all = follow('-l', 'app=fleet', '--all-containers', '--prefix', '--tail=-1');
    expect(await all.ended).toBe(0);
    const wanted = [
      ...Array.from({ length: 20 }, (_, i) => `[pod/a/web] ${i + 1}`),
      '[pod/a/side] side of a',
      '[pod/b/web] only',
      '[pod/b/web] unfinished',
    ];
    expect(all.output().split('\n').filter(Boolean).sort()).toEqual(wanted.sort());
    const few = await house.berth.berth(['logs', '-f', '-l', 'app=fleet', '--all-containers', '--max-log-requests=2']);
    expect(few).toMatchObject({
      code: 1,
      stderr:
        'error: you are attempting to follow 3 log streams, but maximum allowed concurrency is 2, use --max-log-requests to increase the limit\n',
    });
  });
});

describe('logs', () => {
  it('shows the last ten lines of each pod of a selector, pod after pod, and says which container', async () => {
    const { stdout, stderr, code } = await house.berth.berth(['logs', '-l', 'app=fleet']);
    expect(code).toBe(0);
    expect(stdout).toBe(`${Array.from({ length: 10 }, (_, i) => `${i + 11}\n`).join('')}only\nunfinished\n`);
    expect(stderr).toBe('Defaulted container "web" out of: web, side\n');
    expect((await house.berth.berth(['logs', '-l', 'app=none'])).stderr).toBe('No resources found in default namespace.\n');
  });

  it('of the run before the last restart are shown with --previous', async () => {
    await house.until('again', 'it was restarted', (each) => each.status.containerStatuses?.[0]?.restartCount === 1);
    await eventually('the second run has written', async () =>
      (await house.berth.ok('logs', 'again')) === 'second\n' ? true : undefined,
    );
    expect(await house.berth.ok('logs', 'again', '--previous')).toBe('first\n');
    expect(await house.berth.berth(['logs', 'b', '--previous'])).toMatchObject({
      code: 1,
      stderr: 'error: previous terminated container "web" in pod "b" not found\n',
    });
  });

  it('are cut by time and size', async () => {
    const [first = '', second = ''] = (await house.berth.ok('logs', 'a', '-c', 'web', '--timestamps', '--tail=2')).split('\n');
    const [time = ''] = second.split(' ');
    expect(first < second).toBe(true);
    expect(await house.berth.ok('logs', 'pod/a', 'web', `--since-time=${time}`)).toContain('20\n');
    expect(await house.berth.ok('logs', 'a', '-c', 'web', '--since-time=2100-01-01T00:00:00Z')).toBe('');
    expect(await house.berth.ok('logs', 'a', '-c', 'web', '--since=10h')).toMatch(/^1\n2\n/);
    expect(await house.berth.ok('logs', 'a', '-c', 'web', '--limit-bytes=5')).toBe('1\n2\n3');
  });

  it('show a line that is longer than the engine keeps in one piece, with one time', async () => {
    const line = 'x'.repeat(100_000);
    expect(await house.berth.ok('logs', 'long')).toBe(`${line}\nshort\n`);
    const [first = '', second = ''] = (await house.berth.ok('logs', 'long', '--timestamps')).split('\n');
    expect(first.slice(first.indexOf(' ') + 1)).toBe(line);
    expect(second).toMatch(/Z short$/);
    const followed = follow('long');
    expect(await followed.ended).toBe(0);
    expect(followed.output()).toBe(`${line}\nshort\n`);
  });

  it('refuse what makes no sense with one sentence', async () => {
    for (const [args, words] of [
      [['logs'], 'name a pod'],
      [['logs', 'a', '-l', 'app=fleet'], 'either a name or a selector'],
      [['logs', 'a', '--since=1m', '--since-time=2026-01-01T00:00:00Z'], 'at most one of --since and --since-time'],
      [['logs', 'a', '--all-containers', '-c', 'web'], 'do not go together'],
      [['logs', 'a', '--tail=some'], '--tail takes a number'],
      [['logs', 'a', '--since-time=yesterday'], '--since-time takes a time'],
      [['logs', 'a', '-c', 'db'], 'pod "a" has no container "db": choose one of web, side'],
      [['logs', 'c'], 'pod "c" in namespace "default" not found'],
      [['logs', 'resourceclaim/a'], 'ResourceClaim is not there yet'],
    ] as const) {
      const { code, stderr } = await house.berth.berth(args);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(stderr).toMatch(/^error: [^\n]+\n$/);
      expect(stderr).toContain(words);
    }
  });
});
