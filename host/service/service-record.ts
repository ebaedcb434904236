import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Who starts Berth with the machine: systemd, or a script in /etc/init.d. */
export type ManagerName = 'systemd' | 'init.d';

/** A file outside of the data directory that `berth install` made, as it was written. */
export interface ServiceFile {
  readonly path: string;
  readonly sha256: string;
}

/**
 * That an installation is a service of the machine, and everything that was made for it:
 * what `berth uninstall` removes.
 */
export interface ServiceRecord {
  readonly manager: ManagerName;
  readonly files: readonly ServiceFile[];
}

const file = (dataDir: string): string => join(dataDir, 'service.json');

/** Undefined: no service, `berth up` and `berth join` keep it running. */
export function readService(dataDir: string): ServiceRecord | undefined {
  let text: string;
  try {
    text = readFileSync(file(dataDir), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new Error(`cannot read ${file(dataDir)}: ${(error as Error).message}`);
  }
  try {
    const { manager, files } = JSON.parse(text) as ServiceRecord;
    if ((manager === 'systemd' || manager === 'init.d') && Array.isArray(files)) return { manager, files };
  } catch {
    // Damaged: told below.
  }
  throw new Error(`${file(dataDir)} is damaged: remove it, and run "berth install" again`);
}

export function writeService(dataDir: string, record: ServiceRecord): void {
  const temporary = `${file(dataDir)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
  renameSync(temporary, file(dataDir));
}

export function removeService(dataDir: string): void {
  rmSync(file(dataDir), { force: true });
}

/** The first line of each file that is made outside of a data directory: names the installation that owns it. */
export function titleOf(dataDir: string): string {
  return `# Berth in ${dataDir}: made by "berth install", removed by "berth uninstall".`;
}

/** The data directory that a service file was made for; undefined when it is not Berth's. */
export function ownerOf(text: string): string | undefined {
  return /^# Berth in (.+): made by "berth install"/m.exec(text)?.[1];
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export type FileState = 'absent' | 'ours' | 'edited' | 'foreign';

/** What a file is, before it is replaced or removed. `edited`: it was changed since it was written. */
export function decideFileState(text: string | undefined, recorded: string | undefined, dataDir: string): FileState {
  if (text === undefined) return 'absent';
  if (recorded !== undefined) return hashOf(text) === recorded ? 'ours' : 'edited';
  return ownerOf(text) === dataDir ? 'edited' : 'foreign';
}

export function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
}

export interface WrittenFile {
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

/** Writes a file and its record. What was edited by hand is kept beside it; returns where. */
export function putFile(dataDir: string, { path, text, mode }: WrittenFile): { readonly isNew: boolean; readonly kept?: string } {
  const record = readService(dataDir);
  if (record === undefined) throw new Error(`${dataDir} is no service`);
  const before = textOf(path);
  const recorded = record.files.find((each) => each.path === path)?.sha256;
  const state = decideFileState(before, recorded, dataDir);
  if (state === 'foreign') throw new Error(foreignMessage(path, before ?? ''));
  if (before === text && recorded === hashOf(text)) return { isNew: false };
  const kept = state === 'edited' && before !== text ? keepAside(path) : undefined;
  // The record first: what is written without it would never be removed.
  const others = record.files.filter((each) => each.path !== path);
  writeService(dataDir, { ...record, files: [...others, { path, sha256: hashOf(text) }] });
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.berth-tmp`;
  writeFileSync(temporary, text, { mode });
  renameSync(temporary, path);
  return { isNew: before !== text, ...(kept === undefined ? {} : { kept }) };
}

export function foreignMessage(path: string, text: string): string {
  const owner = ownerOf(text);
  return owner === undefined
    ? `${path} is there already and not Berth's: move it away first`
    : `${path} is the service of another Berth, in ${owner}: "berth uninstall --data-dir ${owner}" removes it; a machine has one`;
}

/** Renames it so that it is no service file. */
export function keepAside(path: string): string {
  const aside = `${path}.bak`;
  renameSync(path, aside);
  return aside;
}
