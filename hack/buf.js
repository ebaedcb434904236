// Runs buf as npm installed it. Nothing is fetched: the module has no dependencies outside the repository.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
/** The API as it was promised last: a buf image without sources, written by hack/update-proto-baseline. */
export const baseline = join(root, 'proto', 'baseline.binpb');

/**
 * Runs `buf ...args` at the root of the repository; its complaints go to standard error. Returns whether it had none.
 */
export function buf(...args) {
  const { status, error, stdout } = spawnSync(join(root, 'node_modules', '.bin', 'buf'), args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (error) throw new Error(`run buf: ${error.message}; run npm install first`, { cause: error });
  process.stderr.write(stdout);
  return status === 0;
}

/** Writes the API as it is now to `file`, without comments and positions, so that only the API itself changes it. */
export function buildImage(file) {
  if (!buf('build', '--exclude-source-info', '-o', file)) throw new Error('build proto/: see above');
}
