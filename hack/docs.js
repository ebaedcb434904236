// The documents that are generated: their paths and what they should say. The generators are TypeScript and import
// rooms, so vite runs them.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Text by path. */
export async function generatedDocs() {
  const load = async (name) => {
    const { module } = await runnerImport(join(root, 'hack', name), { configFile: false, logLevel: 'error', root });
    return module;
  };
  const [{ manifestSupport }, { metricsPage }] = [await load('manifest-support.ts'), await load('metrics.ts')];
  return new Map([
    ['docs/manifest-support.md', manifestSupport()],
    ['docs/metrics.md', metricsPage()],
  ]);
}
