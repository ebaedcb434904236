import type { Command } from 'commander';
import { withSession } from '../session.ts';

/** As long as many thousand Secrets take on a slow disk; the server carries it through in any case. */
const timeoutMs = 30 * 60_000;

export function registerSecrets(program: Command): void {
  const secrets = program.command('secrets').description('Manage the encryption of Secrets at rest');
  secrets
    .command('rotate-key')
    .description('Encrypt all Secrets with a new key; old values can be read all the while')
    .action(async (_flags: object, command: Command) => {
      await withSession(command, async ({ client }) => {
        const { keyId = '', rewritten = 0 } = await client.secretKeys.rotate({ timeoutMs });
        process.stdout.write(
          `secrets are encrypted with the new key ${keyId}, ${rewritten} written anew; copy secret-keys/ of the server's data directory again to where you keep it\n`,
        );
      });
    });
}
