import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PassedFlags } from '../flags/passed-flags.ts';

/** How an installation is run: what `berth up` was told, so that the next one need not be told again. */
export interface InstallationRecord {
  readonly listen: string;
  readonly nodeName: string;
  readonly advertise?: string | undefined;
  /**
   * The address of the server that this machine has joined: then it runs an agent and no server, and `listen` is empty.
   */
  readonly joined?: string | undefined;
  readonly sandboxImage?: string | undefined;
  readonly maxContainerRestartPeriod?: string | undefined;
  readonly podManifestPath?: string | undefined;
  readonly schedulerConfig?: string | undefined;
  readonly metricsAddress?: string | undefined;
  readonly agentMetricsAddress?: string | undefined;
  readonly history?: string | undefined;
  readonly historySize?: string | undefined;
  /** Further flags of the processes. */
  readonly passed?: PassedFlags | undefined;
  /** The topmost folder that was made for the data directory; undefined when all were there before. */
  readonly madeFolder?: string | undefined;
}

const file = (dataDir: string): string => join(dataDir, 'installation.json');

/** Undefined when there is none; a damaged one counts as none, as everything in it can be given again. */
export function readRecord(dataDir: string): InstallationRecord | undefined {
  const found = read(dataDir);
  const isWhole = typeof found.listen === 'string' && typeof found.nodeName === 'string';
  return isWhole ? (found as InstallationRecord) : undefined;
}

function read(dataDir: string): Partial<InstallationRecord> {
  try {
    return (JSON.parse(readFileSync(file(dataDir), 'utf8')) ?? {}) as Partial<InstallationRecord>;
  } catch {
    // Not there, or not readable: see above.
    return {};
  }
}

/** Makes the data directory where it is missing, and remembers what it made. */
export function makeDataDir(dataDir: string): void {
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  if (made !== undefined) replace(dataDir, { madeFolder: made });
}

/** Creates the data directory and records the options of the installation. */
export function writeRecord(dataDir: string, record: Omit<InstallationRecord, 'madeFolder'>): void {
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  replace(dataDir, { ...record, madeFolder: made ?? read(dataDir).madeFolder });
}

/**
 * Restores the flags from before a failed start, so that the next start has to be given them again.
 * The folder that was created stays recorded.
 */
export function restoreRecord(dataDir: string, before: InstallationRecord | undefined): void {
  replace(dataDir, { ...before, madeFolder: read(dataDir).madeFolder });
}

function replace(dataDir: string, record: Partial<InstallationRecord>): void {
  const temporary = `${file(dataDir)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(temporary, file(dataDir));
}
