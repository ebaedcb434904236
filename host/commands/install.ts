import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { ExitWith } from '../../cli/program/failure.ts';
import { interruptSignal } from '../../cli/session.ts';
import { mergePassed, passedOf, withPassedFlags } from '../flags/passed-flags.ts';
import { makeDataDir, readRecord } from '../installation/installation-record.ts';
import { nextForKubectl } from '../installation/kubernetes-door.ts';
import { changedSettings, computeSettings, type GivenSettings, settingsErrors } from '../installation/up-settings.ts';
import { joinHost } from '../join/join-address.ts';
import { JoinProblem } from '../join/judge-server.ts';
import { defaultDataDir, defaultNodeName } from '../paths.ts';
import type { ProcessName } from '../processes/berth-processes.ts';
import { checkMachine, withInstallation } from '../processes/on-this-machine.ts';
import { commandOf, findRunning, othersOf, processNames, type Running, stopSupervised } from '../processes/processes.ts';
import { checkWords } from '../service/service-command.ts';
import {
  describeService,
  isServiceCurrent,
  managerOfMachine,
  removeServiceFiles,
  serviceConflicts,
  startsAtBoot,
} from '../service/service-manager.ts';
import { type ManagerName, readService, type ServiceRecord, writeService } from '../service/service-record.ts';
import { createSteps, type Steps } from '../steps.ts';
import * as joining from './join.ts';
import * as starting from './up.ts';

interface ServerFlags extends GivenSettings {
  readonly dataDir: string;
}

interface AgentFlags extends joining.JoinFlags {
  readonly tokenFile?: string;
}

export function registerInstall(program: Command): void {
  const install = program
    .command('install')
    .description('Install Berth as a service that starts at boot: systemd units, or a script in /etc/init.d');
  const server = install
    .command('server')
    .description('What "berth up" runs, as services; again with other flags, what changed is restarted');
  starting.withSettings(server).action(installServer);
  const agent = install
    .command('agent [address]')
    .description('What "berth join" runs, as a service: "berth token create" on the server prints address, token and hash')
    .option('--token <token>', "permits the request for this machine's certificate; used once and not stored")
    .option('--token-file <file>', 'read the token from this file; "-" for standard input')
    .option('--ca-hash <hash...>', "the hash of the key of the cluster's authority, sha256:HEX: no other server is trusted")
    .option('--node-name <name>', `this machine's name as a node (default: as before, at first ${defaultNodeName()})`)
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--metrics-address <address>', 'where the agent serves its metrics, or "off"');
  withPassedFlags(agent, ['agent']).action(installAgent);
}

/** What both have in common: of whom the services are, and what they were. */
interface Target {
  readonly dataDir: string;
  readonly manager: ManagerName;
  readonly service: ServiceRecord | undefined;
  readonly running: Readonly<Record<ProcessName, Running>>;
  readonly steps: Steps;
}

/** Everything that can be known to fail before anything is touched. */
function openTarget(dataDir: string, steps: Steps): Target {
  if (process.getuid?.() !== 0)
    throw new ExitWith(1, 'services of the machine are root\'s to make: run it with sudo, or "berth up --detach" as this user');
  const service = readService(dataDir);
  const manager = managerOfMachine();
  if (service !== undefined && service.manager !== manager)
    throw new ExitWith(
      1,
      `${dataDir} is a service of ${service.manager}, and this machine now has ${manager}: "berth uninstall" first`,
    );
  const conflicts = serviceConflicts(dataDir, manager);
  if (conflicts.length > 0) throw new ExitWith(1, conflicts.join('\n'));
  return { dataDir, manager, service, running: findRunning(dataDir), steps };
}

const runs = ({ keeper, process: own }: Running): boolean => keeper !== undefined || own !== undefined;

/** Which processes are to be started, or started anew, so that all run as they are to be kept from now on. */
function decideRestarts(
  { dataDir, service, running }: Target,
  wanted: Partial<Record<ProcessName, readonly string[]>>,
): ProcessName[] {
  return processNames.filter((name) => {
    const args = wanted[name];
    if (args === undefined) return false;
    const command = commandOf(dataDir, name, args);
    checkWords(command);
    return service === undefined || !runs(running[name]) || !isServiceCurrent(service, command, othersOf(command));
  });
}

/** Stops what is to start anew, and its previous supervisor. */
async function takeOver({ dataDir, service, running, steps }: Target, restarts: readonly ProcessName[]): Promise<void> {
  const names = restarts.filter((name) => runs(running[name])).toReversed();
  if (names.length === 0) return;
  steps.wait(`stopping ${names.join(' and ')}; containers go on running`);
  await stopSupervised(dataDir, names);
  steps.ok(`${names.join(' and ')} stopped${service === undefined ? ', to run as a service' : ''}; containers go on running`);
}

async function installServer(flags: ServerFlags): Promise<void> {
  const errors = settingsErrors(flags);
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  const dataDir = resolve(flags.dataDir);
  const steps = createSteps(process.stdout, process.stderr);
  const signal = interruptSignal();
  await withInstallation(dataDir, 'berth install', steps, async () => {
    const target = openTarget(dataDir, steps);
    const before = readRecord(dataDir);
    starting.refuseJoined(dataDir, before);
    const settings = computeSettings(flags, before);
    const run: starting.Run = { flags, dataDir, before, settings, steps, signal };
    const wanted = { server: starting.argumentsOf('server', settings), agent: starting.argumentsOf('agent', settings) };
    const restarts = decideRestarts(target, wanted);
    if (target.service !== undefined && restarts.length === 0) return tellSame(target.service, steps);
    await starting.checkSchedulerConfig(run, { kind: 'start' });
    await starting.check(run, target.running.server.process !== undefined);
    starting.warnOfRename(run);
    if (target.service !== undefined && before !== undefined) tellChanges(changedSettings(settings, before), restarts, steps);
    await takeOver(target, restarts);
    await asService(target, () => starting.startAll(run, restarts), {
      // What ran before, as it ran before.
      restore: async () => {
        const ran = restarts.filter((name) => runs(target.running[name]));
        if (before === undefined || ran.length === 0) return;
        await starting.startAll({ ...run, settings: before }, ran);
        steps.ok('what ran before runs again, as before');
      },
    });
    await sayNext(dataDir, settings.listen, steps);
  });
}

async function installAgent(address: string | undefined, flags: AgentFlags): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const steps = createSteps(process.stdout, process.stderr);
  const signal = interruptSignal();
  const token = readToken(flags);
  await withInstallation(dataDir, 'berth install', steps, async () => {
    const target = openTarget(dataDir, steps);
    const before = readRecord(dataDir);
    const nodeName = flags.nodeName ?? before?.nodeName ?? defaultNodeName();
    const endpoint = joining.readEndpoint(address, before, dataDir);
    const given = { ...flags, ...(token === undefined ? {} : { token }) };
    const run: joining.Run = { dataDir, nodeName, endpoint, before, flags: given, steps, signal };
    const mistakes = joining.findMistakes(given, nodeName);
    if (mistakes.length > 0) throw new ExitWith(1, mistakes.join('\n'));
    const at = joinHost(endpoint.host, endpoint.port);
    if (before?.joined !== undefined && runs(target.running.agent) && (before.joined !== at || before.nodeName !== nodeName))
      throw new ExitWith(
        1,
        `an agent runs from ${dataDir}, as node ${before.nodeName} of ${before.joined}: "berth down" ends it first; containers go on running`,
      );
    const metricsAddress = flags.metricsAddress ?? before?.agentMetricsAddress;
    const passed = mergePassed(before?.passed, passedOf(flags));
    const wanted = joining.joinedArguments({ address: at, nodeName, metricsAddress, passed });
    const restarts = decideRestarts(target, { agent: wanted });
    if (target.service !== undefined && restarts.length === 0) return tellSame(target.service, steps);
    await checkMachine({ dataDir, listen: undefined, nodeName, serverRuns: false, passed, steps });
    await joining.ensureCertificate(run, at);
    await takeOver(target, restarts);
    await asService(target, () => joining.startJoined(run, at), {
      restore: async () => {
        if (before === undefined || !runs(target.running.agent)) return;
        await joining.startJoined({ ...run, flags: { dataDir } }, at);
        steps.ok('what ran before runs again, as before');
      },
    });
  }).catch((error: unknown) => {
    throw error instanceof JoinProblem ? new ExitWith(1, `cannot join: ${error.message}`) : error;
  });
}

/** The words of a command line are seen by every user of the machine while it runs, those of a file are not. */
function readToken({ token, tokenFile }: AgentFlags): string | undefined {
  if (tokenFile === undefined) return token;
  if (token !== undefined) throw new ExitWith(1, '--token and --token-file exclude each other');
  try {
    return readFileSync(tokenFile === '-' ? 0 : tokenFile, 'utf8').trim();
  } catch (error) {
    throw new ExitWith(1, `--token-file ${tokenFile} cannot be read: ${(error as Error).message}`);
  }
}

/** Starts processes as services of the machine; when they do not start, everything is as it was. */
async function asService(
  { dataDir, manager, service, steps }: Target,
  start: () => Promise<void>,
  { restore }: { readonly restore: () => Promise<void> },
): Promise<void> {
  if (service === undefined) {
    makeDataDir(dataDir);
    writeService(dataDir, { manager, files: [] });
  }
  try {
    await start();
  } catch (error) {
    if (service === undefined) removeServiceFiles(dataDir, { force: true });
    await restore().then(
      () => undefined,
      (again: unknown) => steps.warn(`what ran before does not start either: ${String(again)}`, 'berth up'),
    );
    throw error;
  }
  const made = readService(dataDir);
  if (made === undefined) return;
  steps.ok(
    `${describeService(made)} ${manager === 'systemd' ? 'are kept running by systemd and start with the machine' : 'starts Berth with the machine'}`,
  );
  if (!startsAtBoot(made))
    steps.warn(
      `this machine has no init system that runs ${describeService(made)} by itself`,
      `let whatever starts the machine run "${describeService(made)} start", e.g. a line "@reboot ${describeService(made)} start" in root's crontab`,
    );
}

function tellSame(service: ServiceRecord, steps: Steps): void {
  steps.say(
    `Berth is a service of this machine already (${describeService(service)}) and runs as it should; nothing was changed.`,
  );
}

function tellChanges(changes: readonly string[], restarts: readonly ProcessName[], steps: Steps): void {
  if (changes.length > 0) for (const change of changes) steps.ok(`changes: ${change}`);
  else steps.ok(`${restarts.join(' and ')} did not run, or not as this version of Berth would start it`);
}

async function sayNext(dataDir: string, listen: string, steps: Steps): Promise<void> {
  const forKubectl = await nextForKubectl(dataDir, listen);
  const service = readService(dataDir);
  const elsewhere = dataDir === defaultDataDir() ? '' : ` --data-dir ${dataDir}`;
  steps.say(
    [
      '\nNext:',
      '  berth get nodes           this machine as a node',
      service?.manager === 'systemd' ? '  systemctl status berth-server berth-agent' : `  /etc/init.d/berth status what runs`,
      ...forKubectl,
      '  berth token create        print what to run on another machine ("berth join" or "berth install agent")',
      `  berth uninstall${elsewhere}           end the services; data and containers stay`,
    ].join('\n'),
  );
}
