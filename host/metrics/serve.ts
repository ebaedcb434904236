import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { MetricsRegistry } from '../../api/metrics/index.ts';
import { packageVersion } from '../../cli/commands/version.ts';
import { installation } from '../paths.ts';
import type { DaemonName } from '../processes/berth-processes.ts';

/** Next to the API's own port; one that was not asked for by name makes way when it is taken. */
export const defaultMetricsAddress: Readonly<Record<DaemonName, string>> = {
  server: '127.0.0.1:7444',
  agent: '127.0.0.1:7445',
  scheduler: '127.0.0.1:7446',
  controllers: '127.0.0.1:7447',
};

export interface MetricsOptions {
  readonly component: DaemonName;
  /** Of an agent its node, of a scheduler its name, as several may share a data directory. */
  readonly instance?: string | undefined;
  /** As given: HOST:PORT, "off", or nothing. */
  readonly address: string | undefined;
  readonly dataDir: string;
  readonly logger: Logger;
}

export interface ServedMetrics {
  /**
   * Notes where they are, in the data directory; once the process has that to itself,
   * as another one may run from there.
   */
  note(): void;
  /** Ends the measuring and the serving, and removes the note that was made. */
  end(): void;
}

/** Begins to measure this process and to serve all that the registry holds, unless that is off. */
export async function serveMetrics(registry: MetricsRegistry, options: MetricsOptions): Promise<ServedMetrics> {
  const { component, address, logger } = options;
  if (address === 'off') return { note() {}, end() {} };
  const { openMetricsEndpoint } = await import('./endpoint.ts');
  const { measureProcess } = await import('./process.ts');
  const endMeasuring = measureProcess(registry, { component, version: packageVersion() });
  const wanted = address ?? defaultMetricsAddress[component];
  const endpoint = await openMetricsEndpoint({ registry, address: wanted, mayMove: address === undefined });
  if (endpoint.address === wanted) logger.info({ address: endpoint.address }, 'metrics are served');
  else logger.warn({ address: endpoint.address, taken: wanted }, 'metrics are served on another port: the usual one is taken');
  let noted: Note | undefined;
  return {
    note() {
      noted = noteTarget(options, endpoint.address);
    },
    end() {
      endpoint.close();
      endMeasuring();
      if (noted !== undefined) removeNote(noted);
    },
  };
}

interface Note {
  readonly file: string;
  readonly text: string;
}

/** Removes the note of this process, and leaves one that its successor has written meanwhile. */
function removeNote({ file, text }: Note): void {
  try {
    if (readFileSync(file, 'utf8') === text) rmSync(file, { force: true });
  } catch {
    // It is not there any more.
  }
}

/** Where the metrics are, in the form of Prometheus' file_sd_configs. */
function noteTarget({ component, instance, dataDir, logger }: MetricsOptions, address: string): Note {
  const { run } = installation(dataDir);
  const file = join(run, `metrics-${[component, ...(instance === undefined ? [] : [instance])].join('-')}.json`);
  const labels = { component, ...(instance !== undefined && component === 'agent' ? { node: instance } : {}) };
  const text = `${JSON.stringify([{ targets: [address], labels }])}\n`;
  try {
    mkdirSync(run, { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
  } catch (err) {
    logger.warn({ err, address }, 'cannot note where the metrics are served; the log has it');
  }
  return { file, text };
}
