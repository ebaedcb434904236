import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The package's version, e.g. "v0.1.0", as the node's kubeletVersion.
 * The package file is above the sources and above dist/.
 */
export function packageVersion(from: string = dirname(fileURLToPath(import.meta.url))): string {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const { name, version } = JSON.parse(readFileSync(file, 'utf8')) as { name?: string; version?: string };
    if (name === 'berth' && version !== undefined) return `v${version}`;
  }
  return 'v0.0.0';
}
