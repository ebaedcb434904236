// The documents that are generated from the code: their paths and what they should say. The generators are TypeScript
// and import rooms, so they run from a bundle.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Text by path. */
export async function generatedDocs() {
  const input = { fields: 'hack/manifest-support.ts', metrics: 'hack/metrics.ts' };
  const bundle = await rolldown({ cwd: root, input, platform: 'node', external: ['lmdb'] });
  const folder = mkdtempSync(join(tmpdir(), 'berth-docs-'));
  try {
    await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
    const load = (name) => import(pathToFileURL(join(folder, name)));
    const [{ manifestSupport }, { metricsPage }] = [await load('fields.mjs'), await load('metrics.mjs')];
    return new Map([
      ['docs/manifest-support.md', manifestSupport()],
      ['docs/metrics.md', metricsPage()],
    ]);
  } finally {
    await bundle.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
