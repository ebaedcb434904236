import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Command } from 'commander';
import { localSocketPath } from '../../api/meta/local-socket.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { interruptSignal } from '../../cli/session.ts';
import type { Client } from '../../client/index.ts';
import { defaultHistory, defaultHistorySize, historyHelp, historySizeHelp } from '../flags/history-flags.ts';
import { passedArguments, passedRegistration, withPassedFlags } from '../flags/passed-flags.ts';
import { restartPeriodHelp } from '../flags/restart-period.ts';
import { configNews, filesToCheck } from '../flags/scheduler-config-check.ts';
import { parseSchedulerConfig, schedulerConfigHelp } from '../flags/scheduler-config-flag.ts';
import { parseStaticPodPath, staticPodsHelp } from '../flags/static-pods-flag.ts';
import { type InstallationRecord, readRecord, restoreRecord, writeRecord } from '../installation/installation-record.ts';
import { nextForKubectl, tellKubernetes } from '../installation/kubernetes-door.ts';
import { pathHint } from '../installation/path-hint.ts';
import { decideUp, type UpPlan } from '../installation/up-plan.ts';
import {
  computeSettings,
  type GivenSettings,
  ignoredFlags,
  printFlags,
  type Settings,
  settingsErrors,
} from '../installation/up-settings.ts';
import { tellLacking } from '../join/registration.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen, defaultNodeName, installation, localAddress, parseListen } from '../paths.ts';
import type { ProcessName } from '../processes/berth-processes.ts';
import { checkMachine, stayAttached, tellKept, withInstallation } from '../processes/on-this-machine.ts';
import { type BerthBuild, ownBuild } from '../processes/own-build.ts';
import {
  findRunning,
  processNames,
  rescue,
  runningBuild,
  startedAtMs,
  startSupervised,
  stopSupervised,
  whyEnded,
} from '../processes/processes.ts';
import { readService } from '../service/service-record.ts';
import { createSteps, type Steps } from '../steps.ts';

interface UpFlags extends GivenSettings {
  readonly detach?: boolean;
  readonly upgrade?: boolean;
  readonly dataDir: string;
}

/** One run of the command. */
export interface Run {
  readonly flags: GivenSettings;
  readonly dataDir: string;
  readonly before: InstallationRecord | undefined;
  readonly settings: Settings;
  readonly steps: Steps;
  readonly signal: AbortSignal;
}

/** What is not said stays as it was at the last start that succeeded. */
const asBefore = (first: string): string => `default: as before, at first ${first}`;

export function registerUp(program: Command): void {
  const command = program
    .command('up')
    .description('Start Berth on this machine: the API server, the scheduler and an agent')
    .option('-d, --detach', 'return when it is ready, and leave it running')
    .option('--upgrade', 'replace a running Berth of another version or build in place; containers go on running');
  withSettings(command).action(up);
}

/** The flags of what an installation is run with. */
export function withSettings(command: Command): Command {
  const own = command
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--listen <address>', `where the API listens (${asBefore(defaultListen)})`)
    .option('--advertise <host>', 'the address under which others reach the API, when it is another')
    .option('--node-name <name>', `this machine's name as a node (${asBefore(defaultNodeName())})`)
    .option('--sandbox-image <image>', 'the image of pod sandboxes, instead of the one that is made here')
    .option('--max-container-restart-period <span>', `${restartPeriodHelp} (${asBefore('5m')})`)
    .option('--pod-manifest-path <path>', `${staticPodsHelp}; "" for none (${asBefore('none')})`, parseStaticPodPath)
    .option('--scheduler-config <file>', `${schedulerConfigHelp}; "" for none (${asBefore('none')})`, parseSchedulerConfig)
    .option(
      '--metrics-address <address>',
      `where the server serves its metrics, or "off" (${asBefore(defaultMetricsAddress.server)}, or a free port)`,
    )
    .option(
      '--agent-metrics-address <address>',
      `where the agent serves its metrics, or "off" (${asBefore(defaultMetricsAddress.agent)}, or a free port)`,
    )
    .option('--history <span>', `${historyHelp} (${asBefore(defaultHistory)})`)
    .option('--history-size <quantity>', `${historySizeHelp} (${asBefore(defaultHistorySize)})`);
  return withPassedFlags(own, processNames);
}

async function up(flags: UpFlags): Promise<void> {
  const errors = settingsErrors(flags);
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  const dataDir = resolve(flags.dataDir);
  const steps = createSteps(process.stdout, process.stderr);
  const signal = interruptSignal();
  const plan = await withInstallation(dataDir, 'berth up', steps, async () => {
    // Only now: another one may just have started it.
    const before = readRecord(dataDir);
    refuseJoined(dataDir, before);
    const run: Run = { flags, dataDir, before, settings: computeSettings(flags, before), steps, signal };
    const decided = decideUp(findRunning(dataDir), {
      isUpgrade: flags.upgrade === true,
      advertises: flags.advertise !== undefined && flags.advertise !== before?.advertise,
      builds: buildsOf(dataDir),
      ours: ownBuild(),
    });
    await perform(run, decided);
    return decided;
  });
  // A service does not end with the terminal.
  if (plan.kind === 'start' && !flags.detach && readService(dataDir) === undefined)
    await stayAttached({ dataDir, names: processNames.toReversed(), what: 'Berth', command: 'berth up', steps, signal });
}

function buildsOf(dataDir: string): BerthBuild[] {
  return processNames.map((name) => runningBuild(dataDir, name)).filter((build) => build !== undefined);
}

async function perform(run: Run, plan: UpPlan): Promise<void> {
  await checkSchedulerConfig(run, plan);
  switch (plan.kind) {
    case 'running':
      return tellRunning(run, plan);
    case 'start':
      await check(run, false);
      warnOfRename(run);
      await startAll(run, processNames);
      return sayNext(run);
    case 'mend':
      await check(run, !plan.start.includes('server'));
      return mend(run, plan);
    case 'advertise':
      await checkAdvertise({ ...run, settings: advertisedSettings(run) });
      return advertise(run);
    case 'upgrade':
      await check(run, true);
      return upgrade(run, plan.from);
  }
}

/** Looks at the machine, and shows everything that is wrong before anything is started. */
export async function check({ dataDir, settings, steps }: Run, serverRuns: boolean): Promise<void> {
  await checkAdvertise({ settings, steps });
  const listen = parseListen(settings.listen);
  if (listen === undefined) throw new ExitWith(1, `--listen "${settings.listen}" must be HOST:PORT`);
  await checkMachine({ dataDir, listen, nodeName: settings.nodeName, serverRuns, passed: settings.passed, steps });
}

/** An address that cannot be reached is refused before anything starts. */
async function checkAdvertise({
  settings: { listen, advertise: address },
  steps,
}: Pick<Run, 'settings' | 'steps'>): Promise<void> {
  if (address === undefined) return;
  const { advertiseNotice, advertiseProblem } = await import('../../apiserver/main.ts');
  const problem = await advertiseProblem(listen, address);
  if (problem !== undefined) throw new ExitWith(1, problem);
  const notice = await advertiseNotice(listen, address);
  if (notice !== undefined) steps.warn(notice, 'look there whether it does, before other machines join');
}

/** Mistakes are seen while nothing has been stopped or started. */
export async function checkSchedulerConfig({ flags, before, settings }: Run, plan: UpPlan): Promise<void> {
  const given = flags.schedulerConfig;
  for (const file of filesToCheck(plan, { given, before: (before ?? settings).schedulerConfig, next: settings.schedulerConfig }))
    await readConfig(file);
}

async function readConfig(file: string): Promise<void> {
  const { readSchedulerConfig } = await import('../../scheduler/main.ts');
  await readSchedulerConfig(file);
}

/** Of a server that goes on running as it is. */
async function tellSchedulerConfig({ dataDir, steps }: Run, { schedulerConfig }: Settings): Promise<void> {
  const found = schedulerConfig && (await configNews(schedulerConfig, startedAtMs(dataDir, 'server'), readConfig));
  if (found) steps.warn(found.news, found.advice);
}

/** Pods stay bound to the node that they were placed on. */
export function warnOfRename({ before, settings, steps }: Run): void {
  if (before === undefined || before.nodeName === settings.nodeName) return;
  steps.warn(
    `this installation ran as node ${before.nodeName} before; its pods stay bound to that node`,
    `run it with --node-name ${before.nodeName}, or delete the node: berth delete node ${before.nodeName}`,
  );
}

export function argumentsOf(name: ProcessName, settings: Settings): string[] {
  const option = (flag: string, value: string | undefined): string[] => (value === undefined ? [] : [flag, value]);
  return name === 'server'
    ? [
        '--listen',
        settings.listen,
        ...option('--advertise', settings.advertise),
        ...option('--scheduler-config', settings.schedulerConfig),
        ...option('--metrics-address', settings.metricsAddress),
        ...option('--history', settings.history),
        ...option('--history-size', settings.historySize),
        ...passedArguments('server', settings.passed),
      ]
    : [
        '--server',
        localAddress(settings.listen),
        '--node-name',
        settings.nodeName,
        ...option('--sandbox-image', settings.sandboxImage),
        ...option('--max-container-restart-period', settings.maxContainerRestartPeriod),
        ...option('--pod-manifest-path', settings.podManifestPath),
        ...option('--metrics-address', settings.agentMetricsAddress),
        ...passedArguments('agent', settings.passed),
      ];
}

/**
 * Starts these processes and waits until all is ready. If that fails or is interrupted, it stops the processes that it
 * started and restores the previous record of flags.
 */
export async function startAll(run: Run, names: readonly ProcessName[]): Promise<void> {
  const { dataDir, before, settings, steps, signal } = run;
  const { waitForNode, waitForServer } = await import('../processes/readiness.ts');
  const { issueNodeCredentials } = await import('../../apiserver/node-credentials.ts');
  const awaited = { dataDir, ...settings, wait: steps.wait, signal };
  writeRecord(dataDir, settings);
  const began = performance.now();
  try {
    if (names.includes('server')) tellKept(startSupervised(dataDir, 'server', argumentsOf('server', settings)), steps);
    const client = await waitForServer(awaited);
    try {
      steps.ok(
        `API server on ${settings.listen}${settings.advertise === undefined ? '' : `, for others at ${settings.advertise}`}`,
      );
      await tellKubernetes(client, settings, steps);
      await ensureContext(run);
      const sinceMs = Date.now();
      const isNew = names.includes('agent');
      // Here, since the agent would keep the library that makes certificates in memory for as long as it runs.
      if (isNew) await issueNodeCredentials(dataDir, settings.nodeName);
      if (isNew) tellKept(startSupervised(dataDir, 'agent', argumentsOf('agent', settings)), steps);
      await waitForNode(awaited, client, isNew ? { version: `v${packageVersion()}`, sinceMs } : undefined);
      if (isNew) await tellLacking(client, settings.nodeName, passedRegistration(settings.passed), steps);
      steps.ok(`node ${settings.nodeName} is ready (after ${((performance.now() - began) / 1000).toFixed(1)} s)`);
    } finally {
      client.close();
    }
  } catch (error) {
    await stopSupervised(dataDir, names.toReversed());
    restoreRecord(dataDir, before);
    throw error;
  }
}

/** Starts what is missing, and gives what runs without a keeper one again. */
async function mend(run: Run, plan: Extract<UpPlan, { kind: 'mend' }>): Promise<void> {
  const { dataDir, steps, flags, settings, before } = run;
  tellIgnored(flags, before ?? settings, steps);
  if (!plan.start.includes('server')) await tellSchedulerConfig(run, before ?? settings);
  for (const name of plan.rescue) if (rescue(dataDir, name)) steps.ok(`the ${name} is looked after again`);
  await startAll({ ...run, settings: before ?? settings }, plan.start);
  steps.say(`\nBerth ran only in part from ${dataDir}; it is whole again.`);
}

/**
 * New programs over the same state: first the server, then the agent;
 * neither touches a container when it ends or starts.
 */
async function upgrade(run: Run, from: string): Promise<void> {
  const { dataDir, steps } = run;
  steps.wait('stopping the processes that run; containers go on running');
  await stopSupervised(dataDir, processNames.toReversed());
  steps.ok(`Berth ${from} has stopped; containers go on running`);
  await startAll(run, processNames);
  steps.say(`\nBerth ${packageVersion()} runs in place of ${from}.`);
}

/**
 * Another address to listen on goes with it where what runs on this machine still reaches the server at the one that it
 * has.
 */
function advertisedSettings({ flags, before, settings }: Run): Settings {
  const base = before ?? settings;
  const isWider = flags.listen !== undefined && localAddress(flags.listen) === localAddress(base.listen);
  return { ...base, listen: isWider ? flags.listen! : base.listen, advertise: flags.advertise };
}

/** The server alone starts anew, with an address more; what the agent has under way goes on. */
async function advertise(run: Run): Promise<void> {
  const { dataDir, steps, flags, settings } = run;
  const before = run.before ?? settings;
  const next = advertisedSettings(run);
  tellIgnored({ ...flags, advertise: undefined, listen: next.listen === flags.listen ? undefined : flags.listen }, before, steps);
  steps.wait('restarting the API server; containers go on running');
  await stopSupervised(dataDir, ['server']);
  try {
    await startAll({ ...run, settings: next }, ['server']);
  } catch (error) {
    await startAll({ ...run, settings: before }, ['server']);
    throw error;
  }
  steps.say(`\nOther machines reach the API server at ${flags.advertise} now: "berth token create" prints what to run on them.`);
}

/** A machine is a node of one cluster. */
export function refuseJoined(dataDir: string, record: InstallationRecord | undefined): void {
  if (record?.joined === undefined) return;
  const purge = `berth down --purge --data-dir ${dataDir}`;
  throw new ExitWith(
    1,
    `${dataDir} belongs to node ${record.nodeName} of the cluster at ${record.joined}: "berth join" starts it. For a cluster of its own, "${purge}" first, or another --data-dir`,
  );
}

async function tellRunning(run: Run, { versions, isOtherBuild }: Extract<UpPlan, { kind: 'running' }>): Promise<void> {
  const { dataDir, flags, settings, before, steps } = run;
  const as = before ?? settings;
  const { server, agent } = findRunning(dataDir);
  const pids = `server: process ${server.process?.pid ?? '-'}, agent: process ${agent.process?.pid ?? '-'}`;
  steps.say(`Berth ${versions.join(' and ') || packageVersion()} already runs from ${dataDir} (${pids}); nothing was changed.`);
  tellIgnored(flags, as, steps);
  await tellSchedulerConfig(run, as);
  if (versions.some((version) => version !== packageVersion()))
    steps.say(`This program is version ${packageVersion()}: "berth up --upgrade" puts it in place, containers go on running.`);
  if (isOtherBuild)
    steps.say('This program is another build of that version: "berth up --upgrade" puts it in place, containers go on running.');
  await ensureContext(run);
  const { askServer, connectAsAdmin } = await import('../processes/readiness.ts');
  const client = connectAsAdmin(dataDir, as.listen);
  const refusal = client ? await askServer(client) : 'it has no certificates yet';
  if (refusal === undefined) steps.ok(`the API server answers on ${as.listen}`);
  else
    steps.warn(
      `the API server does not answer on ${as.listen}: ${whyEnded(dataDir, 'server') ?? refusal}`,
      `look at ${join(installation(dataDir).logs, 'server.log')}`,
    );
  if (client && refusal === undefined) {
    await tellNode(client, as.nodeName, steps);
    await tellKubernetes(client, as, steps);
  }
  client?.close();
  await sayNext(run);
}

async function tellNode(client: Client, nodeName: string, steps: Steps): Promise<void> {
  const { nodeState } = await import('../processes/readiness.ts');
  const why = await nodeState(client, nodeName);
  if (why === undefined) steps.ok(`node ${nodeName} is ready`);
  else steps.warn(`node ${nodeName} is not ready: ${why}`, `mend what it names; "berth describe node ${nodeName}" tells more`);
}

function tellIgnored(flags: GivenSettings, running: Settings, steps: Steps): void {
  const ignored = ignoredFlags(flags, running);
  if (ignored.length > 0)
    steps.warn(
      `not applied: ${ignored.join(', ')}`,
      `berth down, then berth up${printFlags(flags)}; containers go on running meanwhile`,
    );
}

/** Writes the context of this installation where it is missing or says something else. */
async function ensureContext({ dataDir, before, settings, steps }: Run): Promise<void> {
  const { loadContext, upsertContext } = await import('../../client/index.ts');
  const { pki } = installation(dataDir);
  const read = (name: string): string => readFileSync(join(pki, name), 'utf8');
  const address = localAddress((before ?? settings).listen);
  const options = { address, ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') };
  const socket = localSocketPath(dataDir, address);
  const known = await loadContext('berth').catch(() => undefined);
  const { address: at, ca, cert, key } = known?.options ?? {};
  if (isDeepStrictEqual({ ...options, socket }, { address: at, ca, cert, key, socket: known?.socket })) return;
  await upsertContext({ name: 'berth', use: true, options, socket });
  steps.ok('context "berth" written to the configuration');
}

async function sayNext({ dataDir, before, settings, steps }: Run): Promise<void> {
  const forKubectl = await nextForKubectl(dataDir, (before ?? settings).listen);
  steps.say(
    [
      '\nNext:',
      '  berth get nodes           this machine as a node: what it has and what it uses (-o wide)',
      '  berth apply -f FILE       run what a manifest says',
      '  berth get pods -A -w      see what runs, as it changes',
      ...forKubectl,
      '  berth token create        print what to run on another machine, which then joins this one',
      '  berth down                stop Berth; containers go on running',
      ...pathHint(process.argv[1] ?? '', process.env.PATH ?? ''),
    ].join('\n'),
  );
}
