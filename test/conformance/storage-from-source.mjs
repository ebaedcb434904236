// Lets `node --import` run TypeScript sources where no build exists: tests only, so TypeScript may be a development dependency.
import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

const cache = new URL('../../node_modules/.cache/berth-from-source/', import.meta.url);

if (isMainThread) register(import.meta.url);

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return nextLoad(url, context);
  return { format: 'module', shortCircuit: true, source: await translate(url, await readFile(new URL(url), 'utf8')) };
}

// Loading the compiler takes longer than everything else that such a process does, hence the cache.
async function translate(url, source) {
  const cached = new URL(`${createHash('sha256').update(source).digest('hex')}.js`, cache);
  const known = await readFile(cached, 'utf8').catch(() => undefined);
  if (known !== undefined) return known;
  const { default: ts } = await import('typescript');
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true };
  const { outputText } = ts.transpileModule(source, { compilerOptions, fileName: url });
  await mkdir(cache, { recursive: true });
  const own = new URL(`${cached.href}.${process.pid}`);
  await writeFile(own, outputText);
  await rename(own, cached);
  return outputText;
}
