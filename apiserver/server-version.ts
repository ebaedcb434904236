import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

let known: string | undefined;

/** The package's version, e.g. "0.1.0". The package file is above the sources and above dist/. */
export function serverVersion(): string {
  known ??= read(dirname(fileURLToPath(import.meta.url)));
  return known;
}

function read(from: string): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
    if (name === 'berth' && version !== undefined) return version;
  }
  return '0.0.0';
}
