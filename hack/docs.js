// The documents that are generated: their paths and what they should say. The generators are TypeScript and import rooms, so vite runs them.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Text by path. */
export async function generatedDocs() {
  const { module } = await runnerImport(join(root, 'hack', 'manifest-support.ts'), {
    configFile: false,
    logLevel: 'error',
    root,
  });
  return new Map([['docs/manifest-support.md', module.manifestSupport()]]);
}
