import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { LeaseTerm } from '../../api/meta/lease-term.ts';
import type { ServerInfo } from '../../apiserver/main.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import type { RunSchedulerOptions } from '../../scheduler/main.ts';
import { type DaemonContext, type DaemonFlags, runDaemon, userAgentOf } from '../daemon/daemon.ts';
import { controllersErrors, controllersOptions } from '../flags/controllers-flags.ts';
import {
  defaultHistory,
  defaultHistorySize,
  type HistoryFlags,
  historyErrors,
  historyHelp,
  historyOptions,
  historySizeHelp,
} from '../flags/history-flags.ts';
import { lostNodeErrors, lostNodeSecondsOf } from '../flags/lost-node-flags.ts';
import { networkErrors, serviceRangesOf } from '../flags/network-flags.ts';
import { schedulerConfigHelp } from '../flags/scheduler-config-flag.ts';
import { kubernetesOf, limitsOf, namespaceLimitsOf, type ServerTuning, withServerTuning } from '../flags/server-flags.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen } from '../paths.ts';

interface ServerFlags extends DaemonFlags, HistoryFlags, ServerTuning {
  readonly listen: string;
  readonly advertise?: string;
  readonly backend: 'lmdb' | 'memory';
  readonly schedulerConfig?: string;
}

const lastWordsMs = 3_000;

export function registerServer(program: Command): void {
  const command = program
    .command('server')
    .description('Run the API server, the scheduler and the controllers in the foreground')
    .option('--data-dir <folder>', 'where its state lives', defaultDataDir())
    .option('--listen <address>', 'where the API listens', defaultListen)
    .option('--advertise <host>', 'the address under which others reach the API, when it is another')
    .addOption(new Option('--backend <name>', 'where objects are stored').choices(['lmdb', 'memory']).default('lmdb'))
    .option('--history <span>', `${historyHelp} (default: ${defaultHistory})`)
    .option('--history-size <quantity>', `${historySizeHelp} (default: ${defaultHistorySize})`)
    .option('--scheduler-config <file>', schedulerConfigHelp)
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.server}, or a free port)`,
    )
    .option('--log-file <file>', 'log into this file, with rotation');
  withServerTuning(command).action(server);
}

async function server(flags: ServerFlags): Promise<void> {
  const errors = [...historyErrors(flags), ...lostNodeErrors(flags), ...(await networkErrors(flags))];
  errors.push(...(await controllersErrors(flags)));
  const { schedulerConfig } = flags;
  if (schedulerConfig && !flags.scheduler) errors.push('--scheduler-config and --no-scheduler exclude each other');
  if (flags.auditPolicyFile && !flags.audit) errors.push('--audit-policy-file and --no-audit exclude each other');
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  // Before anything starts: a mistake in it is reported to the caller.
  const profiles = schedulerConfig ? await readProfiles(schedulerConfig) : undefined;
  const { openAudit, runServer } = await import('../../apiserver/main.ts');
  const { controllerRules } = await import('../../controllers/main.ts');
  await runDaemon({ component: 'server', flags }, async (daemon) => {
    const { logger: log, logLevel, metrics, signal } = daemon;
    const running: Promise<void>[] = [];
    const { dataDir, listen, advertise, backend } = flags;
    const options = { dataDir, listen, advertise, backend, ...kubernetesOf(flags) };
    const ready = (info: ServerInfo): void => {
      daemon.alone();
      if (flags.scheduler) running.push(runComponent('scheduler', { flags, info, daemon, profiles }));
      if (flags.controllers !== false) running.push(runComponent('controllers', { flags, info, daemon }));
    };
    const stopServer = new AbortController();
    const stop = (): void => void lastWords(running).then(() => stopServer.abort());
    signal.addEventListener('abort', stop, { once: true });
    const audit = flags.audit ? await openAudit({ dataDir: flags.dataDir, policyFile: flags.auditPolicyFile, log }) : undefined;
    await runServer(
      {
        ...options,
        audit: audit?.audit,
        ...historyOptions(flags),
        limits: limitsOf(flags),
        namespaceLimits: namespaceLimitsOf(flags),
        controllerRules,
        systemPriorityNamespaces: flags.systemPriorityNamespaces,
        eventTtlMs: flags.eventTtl,
        tls: { minVersion: flags.tlsMinVersion === 'VersionTLS12' ? '1.2' : '1.3' },
        lostNodeSeconds: lostNodeSecondsOf(flags),
        serviceRanges: serviceRangesOf(flags),
        clusterDomain: flags.clusterDomain,
        log,
        logLevel,
        metrics,
        ready,
      },
      stopServer.signal,
    ).finally(() => audit?.close());
    await Promise.all(running);
  });
}

/**
 * What scheduler and controllers have under way when they are to stop needs the server a moment longer:
 * bindings, events.
 */
async function lastWords(running: readonly Promise<void>[]): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    Promise.allSettled(running).finally(() => late.abort()),
    delay(lastWordsMs, undefined, { signal: late.signal }).catch(() => {}),
  ]);
}

interface ComponentInput {
  readonly flags: ServerFlags;
  readonly info: ServerInfo;
  readonly daemon: DaemonContext;
  /** Of the scheduler, when it is configured. */
  readonly profiles?: RunSchedulerOptions['profiles'];
}

async function readProfiles(file: string): Promise<RunSchedulerOptions['profiles']> {
  const { readSchedulerConfig } = await import('../../scheduler/main.ts');
  return readSchedulerConfig(file);
}

/**
 * A component in the server's process: its calls take no way over the network, and the same steps as those that do.
 */
async function runComponent(name: 'scheduler' | 'controllers', input: ComponentInput): Promise<void> {
  const { flags, info, daemon } = input;
  const logger = daemon.logger.child({ component: name });
  const { connectOver } = await import('../../client/index.ts');
  const { controlPlane } = await import('../../apiserver/main.ts');
  const channel = info.channel({ identity: { user: controlPlane[name], groups: [] }, userAgent: userAgentOf(name) });
  const options = { address: info.address };
  if (name === 'scheduler') {
    const { runScheduler } = await import('../../scheduler/main.ts');
    const client = connectOver(channel, options);
    const running = runScheduler({ client, profiles: input.profiles, logger, metrics: daemon.metrics }, daemon.signal);
    return running.finally(() => client.close());
  }
  const { runElected } = await import('../processes/elected-controllers.ts');
  // The lock of the data directory keeps other servers out: after a kill the same identity takes the Lease at once.
  const identity = `${hostname()}_${resolve(flags.dataDir)}`;
  const connect = (leaseTerm: () => LeaseTerm | undefined) => connectOver(channel, { ...options, leaseTerm });
  return runElected(
    { connect, identity, options: { ...controllersOptions(flags), logger, metrics: daemon.metrics } },
    daemon.signal,
  );
}
