import { statSync, writeFileSync } from 'node:fs';
import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';

export function registerKustomize(program: Command): void {
  program
    .command('kustomize')
    .description('Print the objects that the kustomization in a folder builds')
    .argument('[dir]', 'the folder of the kustomization', '.')
    .option('-o, --output <file>', 'write to this file instead')
    .action(async (folder: string, { output }: { readonly output?: string }) => {
      const { kustomizationText } = await import('../kustomize/text.ts');
      const text = kustomizationText(folder);
      if (output === undefined) process.stdout.write(text);
      else write(output, text);
    });
}

function write(file: string, text: string): void {
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory())
    throw badRequest(`cannot write ${file}: it is a folder; -o names one file, for all objects`);
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw badRequest(`cannot write ${file}: ${(error as Error).message}`);
  }
}
