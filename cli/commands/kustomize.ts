import type { Command } from 'commander';

export function registerKustomize(program: Command): void {
  program
    .command('kustomize')
    .description('Print the objects that the kustomization in a folder builds')
    .argument('[dir]', 'the folder of the kustomization', '.')
    .action(async (folder: string) => {
      const { kustomizationText } = await import('../kustomize/text.ts');
      process.stdout.write(kustomizationText(folder));
    });
}
