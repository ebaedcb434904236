import type { Command } from 'commander';
import { withSession } from '../session.ts';

export function registerApiVersions(program: Command): void {
  program
    .command('api-versions')
    .description('Show the API versions of the server, one "group/version" per line')
    .action(async (_flags: unknown, command: Command) => {
      await withSession(command, async ({ client }) => {
        const versions = (await client.objects.kinds()).flatMap(({ apiVersion = '', versions: served = [] }) => [
          apiVersion,
          ...served,
        ]);
        process.stdout.write(
          [...new Set(versions)]
            .sort()
            .map((version) => `${version}\n`)
            .join(''),
        );
      });
    });
}
