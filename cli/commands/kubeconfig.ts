import type { Command } from 'commander';
import type { KubeconfigFlags } from '../kubeconfig/write-kubeconfig.ts';

export function registerKubeconfig(program: Command): void {
  program
    .command('kubeconfig')
    .description('Print a kubeconfig for kubectl and helm, or merge it into theirs: kubeconfig --merge')
    .option('-o, --output <file>', 'write it into this file')
    .option('--merge [file]', 'add the context to this file (default: the first of $KUBECONFIG, or ~/.kube/config)')
    .option('--keep-current', 'with --merge: the context in use stays as it was')
    .option('--user <name>', 'for another user of the configuration than that of the context')
    .option('--name <context>', 'what the context is called (default: as the user that was given, or as in the configuration)')
    .option('--server <url>', 'where kubectl reaches the server, https://HOST:PORT (default: the server is asked)')
    .action(async (_flags: unknown, command: Command) => {
      const { writeKubeconfig } = await import('../kubeconfig/write-kubeconfig.ts');
      await writeKubeconfig(command, command.optsWithGlobals<KubeconfigFlags>());
    });
}
