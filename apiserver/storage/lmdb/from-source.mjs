// Lets `node --import` run TypeScript sources where no build exists: tests only, so TypeScript may be a development dependency.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) register(import.meta.url);

export async function load(url, context, nextLoad) {
  if (!url.endsWith('.ts') || url.includes('/node_modules/')) return nextLoad(url, context);
  const { default: ts } = await import('typescript');
  const source = await readFile(new URL(url), 'utf8');
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2023, verbatimModuleSyntax: true };
  return {
    format: 'module',
    shortCircuit: true,
    source: ts.transpileModule(source, { compilerOptions, fileName: url }).outputText,
  };
}
