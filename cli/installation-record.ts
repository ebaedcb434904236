import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How an installation is run: what `berth up` was told, so that the next one need not be told again. */
export interface InstallationRecord {
  readonly listen: string;
  readonly nodeName: string;
  readonly advertise?: string | undefined;
  readonly sandboxImage?: string | undefined;
  readonly metricsAddress?: string | undefined;
  readonly agentMetricsAddress?: string | undefined;
  readonly history?: string | undefined;
  readonly historySize?: string | undefined;
  /** The topmost folder that was made for the data directory; undefined when all were there before. */
  readonly madeFolder?: string | undefined;
}

const file = (dataDir: string): string => join(dataDir, 'installation.json');

/** Undefined when there is none; a damaged one counts as none, as everything in it can be given again. */
export function readRecord(dataDir: string): InstallationRecord | undefined {
  try {
    const parsed = JSON.parse(readFileSync(file(dataDir), 'utf8')) as Partial<InstallationRecord>;
    const isWhole = typeof parsed.listen === 'string' && typeof parsed.nodeName === 'string';
    return isWhole ? (parsed as InstallationRecord) : undefined;
  } catch {
    // Not there, or not readable: see above.
    return undefined;
  }
}

/** Makes the data directory where it is missing, and remembers what it made. */
export function writeRecord(dataDir: string, record: Omit<InstallationRecord, 'madeFolder'>): void {
  const made = mkdirSync(dataDir, { recursive: true, mode: 0o755 });
  const madeFolder = made ?? readRecord(dataDir)?.madeFolder;
  const temporary = `${file(dataDir)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify({ ...record, madeFolder })}\n`, { mode: 0o600 });
  renameSync(temporary, file(dataDir));
}
