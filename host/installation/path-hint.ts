import { existsSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';

/** What makes the commands that Berth proposes work as they stand, when the shell would not find `berth`. */
export function pathHint(launcher: string, path: string): string[] {
  const found = path.split(delimiter).some((folder) => folder !== '' && existsSync(join(folder, 'berth')));
  return found || launcher === ''
    ? []
    : ['', `So that your shell finds berth: export PATH="${dirname(resolve(launcher))}:$PATH"`];
}
