import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { logLevels } from '../../api/meta/log-level.ts';
import type { ClientLimits } from '../../apiserver/main.ts';
import type { RunSchedulerOptions } from '../../scheduler/main.ts';
import { type DaemonContext, type DaemonFlags, localConnection, runDaemon } from '../daemon.ts';
import { parseDuration } from '../duration.ts';
import { ExitWith } from '../failure.ts';
import {
  defaultHistory,
  defaultHistorySize,
  type HistoryFlags,
  historyErrors,
  historyHelp,
  historyOptions,
  historySizeHelp,
} from '../history/history-flags.ts';
import { evictionRatesOf, type LostNodeFlags, lostNodeErrors, lostNodeSecondsOf, withLostNodeFlags } from '../lost-node-flags.ts';
import { defaultMetricsAddress } from '../metrics/serve.ts';
import { defaultDataDir, defaultListen, installation, localAddress } from '../paths.ts';
import { schedulerConfigHelp } from '../scheduler-config-flag.ts';

interface ServerFlags extends DaemonFlags, HistoryFlags, LostNodeFlags {
  readonly listen: string;
  readonly advertise?: string;
  readonly backend: 'lmdb' | 'memory';
  readonly scheduler: boolean;
  readonly schedulerConfig?: string;
  readonly controllers: boolean;
  readonly maxInflight?: number;
  readonly maxStreams?: number;
  readonly clientRate?: number;
  readonly clientBurst?: number;
  readonly eventTtl?: number;
  readonly tlsMinVersion: 'VersionTLS12' | 'VersionTLS13';
  readonly audit: boolean;
  readonly auditPolicyFile?: string;
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
    .option('--no-scheduler', 'without the scheduler')
    .option('--scheduler-config <file>', schedulerConfigHelp)
    .option('--no-controllers', 'without the controllers')
    .option(
      '--metrics-address <address>',
      `where metrics are served, or "off" (default: ${defaultMetricsAddress.server}, or a free port)`,
    )
    .addOption(limitOption('--max-inflight <n>', 'unary calls at once from which on no client gets more than an equal share'))
    .addOption(limitOption('--max-streams <n>', 'the same for open streams: watches, logs, commands'))
    .addOption(limitOption('--client-rate <n>', 'calls in a second that each client may make; 0: as many as it likes'))
    .addOption(limitOption('--client-burst <n>', 'so many calls at once after a pause; 0: two seconds worth'))
    .addOption(
      new Option('--tls-min-version <version>', 'the oldest version of TLS that clients may speak')
        .choices(['VersionTLS12', 'VersionTLS13'])
        .default('VersionTLS13'),
    )
    .addOption(new Option('--event-ttl <time>', 'how long events are kept, e.g. 1h').argParser(parseEventTtl))
    .option('--audit-policy-file <file>', 'what is written into the audit log (default: what changes, and who reads Secrets)')
    .option('--no-audit', 'without an audit log')
    .option('--log-file <file>', 'log into this file, which is kept bounded')
    .addOption(new Option('--log-level <level>', 'how much to log').choices(logLevels).default('info'))
    .action(server);
  withLostNodeFlags(command);
}

function limitOption(flags: string, description: string): Option {
  return new Option(flags, description).argParser((text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('give a whole number');
    return value;
  });
}

function parseEventTtl(text: string): number {
  const ms = parseDuration(text);
  if (ms >= 1_000) return ms;
  throw new InvalidArgumentError('give at least 1s');
}

/** What is not said is the server's to choose. */
function limitsOf({ maxInflight, maxStreams, clientRate, clientBurst }: ServerFlags): Partial<ClientLimits> {
  const given = Object.entries({ maxInflight, maxStreams, clientRate, clientBurst }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

async function server(flags: ServerFlags): Promise<void> {
  const errors = [...historyErrors(flags), ...lostNodeErrors(flags)];
  const { schedulerConfig } = flags;
  if (schedulerConfig && !flags.scheduler) errors.push('--scheduler-config and --no-scheduler exclude each other');
  if (flags.auditPolicyFile && !flags.audit) errors.push('--audit-policy-file and --no-audit exclude each other');
  if (errors.length > 0) throw new ExitWith(1, errors.join('\n'));
  // Before anything starts: a mistake in it is seen by whoever starts the server.
  const profiles = schedulerConfig ? await readProfiles(schedulerConfig) : undefined;
  const { openAudit, runServer } = await import('../../apiserver/main.ts');
  await runDaemon({ component: 'server', flags }, async (daemon) => {
    const { logger: log, logLevel, metrics, signal } = daemon;
    const running: Promise<void>[] = [];
    const options = { dataDir: flags.dataDir, listen: flags.listen, advertise: flags.advertise, backend: flags.backend };
    const ready = ({ address }: { readonly address: string }): void => {
      daemon.alone();
      if (flags.scheduler) running.push(runComponent('scheduler', { flags, address, daemon, profiles }));
      if (flags.controllers) running.push(runComponent('controllers', { flags, address, daemon }));
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
        eventTtlMs: flags.eventTtl,
        tls: { minVersion: flags.tlsMinVersion === 'VersionTLS12' ? '1.2' : '1.3' },
        lostNodeSeconds: lostNodeSecondsOf(flags),
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

/** What scheduler and controllers have under way when they are to stop needs the server a moment longer: bindings, events. */
async function lastWords(running: readonly Promise<void>[]): Promise<void> {
  const late = new AbortController();
  await Promise.race([
    Promise.allSettled(running).finally(() => late.abort()),
    delay(lastWordsMs, undefined, { signal: late.signal }).catch(() => {}),
  ]);
}

interface ComponentInput {
  readonly flags: ServerFlags;
  readonly address: string;
  readonly daemon: DaemonContext;
  /** Of the scheduler, when it is configured. */
  readonly profiles?: RunSchedulerOptions['profiles'];
}

async function readProfiles(file: string): Promise<RunSchedulerOptions['profiles']> {
  const { readSchedulerConfig } = await import('../../scheduler/main.ts');
  return readSchedulerConfig(file);
}

const components = {
  scheduler: async () => (await import('../../scheduler/main.ts')).runScheduler,
  controllers: async () => (await import('../../controllers/main.ts')).runControllers,
};

/** A component reaches the API as any program does, also in the server's own process: with its own certificate. */
async function runComponent(name: keyof typeof components, { flags, address, daemon, profiles }: ComponentInput): Promise<void> {
  const run = await components[name]();
  const { connect } = await import('../../client/index.ts');
  const client = connect(localConnection(flags.dataDir, localAddress(address), name));
  try {
    const logger = daemon.logger.child({ component: name });
    const evictionRates = evictionRatesOf(flags);
    const authorities = () => readFile(join(installation(flags.dataDir).pki, 'ca.crt'), 'utf8');
    await run({ client, profiles, evictionRates, authorities, logger, metrics: daemon.metrics }, daemon.signal);
  } finally {
    client.close();
  }
}
