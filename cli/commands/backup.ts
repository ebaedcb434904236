import type { Command } from 'commander';
import { withSession } from '../session.ts';

export function registerBackup(program: Command): void {
  program
    .command('backup')
    .description('Write a snapshot of all objects into a file (-: standard output), for "berth restore"')
    .argument('<file>', 'where to; a file that is there is replaced when the backup is whole')
    .action(async (file: string, _flags: object, command: Command) => {
      await withSession(command, async ({ client }) => {
        const { saveBackup } = await import('../backup/save-backup.ts');
        const { resourceVersion, objects, bytes } = await saveBackup(client.backups.backup(), file);
        process.stderr.write(
          `backed up ${objects} objects as of version ${resourceVersion}: ${bytes} bytes\n` +
            "Secrets in it are encrypted: keep a copy of secret-keys/ of the server's data directory, in another place\n",
        );
      });
    });
}
