import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { changeLogLevel, type LogLevelControl } from '../../api/meta/log-level.ts';
import { MetricsRegistry } from '../../api/metrics/index.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import type { ConnectOptions } from '../../client/index.ts';
import { serveMetrics } from '../metrics/serve.ts';
import { installation } from '../paths.ts';
import type { DaemonName } from '../processes/berth-processes.ts';
import { fileCertificate } from './file-certificate.ts';
import { runGuardian } from './guardian.ts';
import { collectWhenIdle } from './idle-collection.ts';
import { openLog } from './log.ts';

/** The flags of every long-running command. */
export interface DaemonFlags {
  readonly dataDir: string;
  readonly logFile?: string;
  readonly logLevel: string;
  readonly metricsAddress?: string;
}

export interface Daemon {
  readonly component: DaemonName;
  /** Of an agent: its node; of a scheduler: its name. */
  readonly instance?: string;
  readonly flags: DaemonFlags;
}

/** What a long-running command works with. */
export interface DaemonContext {
  readonly logger: Logger;
  readonly logLevel: LogLevelControl;
  readonly metrics: MetricsRegistry;
  /** To be called once the process has its part of the data directory to itself: what it notes there is its own. */
  readonly alone: () => void;
  /** Aborts when the process shall end. */
  readonly signal: AbortSignal;
}

/**
 * Runs until SIGTERM or SIGINT, which end it in order; a second signal ends it at once. An uncaught error is logged and
 * ends the process, so that its supervisor starts a clean one. SIGUSR2 lets it log everything, and as usual again: also
 * when no server can be reached that would say so.
 */
export async function runDaemon(
  { component, instance, flags }: Daemon,
  run: (context: DaemonContext) => Promise<void>,
): Promise<void> {
  const dataDir = resolve(flags.dataDir);
  const { logger, logLevel } = await openLog(component, flags);
  const usualLevel = logLevel.get() === 'debug' ? 'info' : logLevel.get();
  const controller = new AbortController();
  const { signal } = controller;
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (signal.aborted) {
        logger.warn({ signal: name }, 'stopping at once: asked a second time');
        process.exit(1);
      }
      logger.info({ signal: name }, 'stopping');
      controller.abort();
    });
  }
  process.on('SIGUSR2', () => {
    const level = logLevel.get() === 'debug' ? usualLevel : 'debug';
    changeLogLevel(logLevel, level, () => logger.warn({ level, signal: 'SIGUSR2' }, 'the log level was changed'));
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      logger.fatal({ err: error }, event);
      process.stderr.write(`error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
      process.exit(1);
    });
  }
  if (component === 'server' || component === 'agent') void runGuardian(dataDir, component, { logger, signal });
  collectWhenIdle(signal);
  const metrics = new MetricsRegistry();
  const served = await serveMetrics(metrics, { component, instance, address: flags.metricsAddress, dataDir, logger });
  try {
    await run({ logger, logLevel, metrics, alone: served.note, signal });
  } finally {
    served.end();
  }
  logger.info({}, 'stopped');
}

/**
 * How a component on the server's machine reaches the API:
 * with its own certificate from the installation's pki folder, as it is renewed there.
 */
export function localConnection(dataDir: string, address: string, component: string): ConnectOptions {
  const { pki } = installation(dataDir);
  const certificate = fileCertificate(
    { ca: join(pki, 'ca.crt'), certificate: join(pki, `${component}.crt`), key: join(pki, `${component}.key`) },
    Date.now,
  );
  return { address, ca: certificate().ca, certificate, userAgent: userAgentOf(component) };
}

/** How a component names itself to the server, with its version. */
export function userAgentOf(component: string): string {
  return `berth-${component} berth/${packageVersion()}`;
}
