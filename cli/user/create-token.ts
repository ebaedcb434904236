import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { parseDuration } from '../args/duration.ts';
import { collect } from '../generators/pairs.ts';
import { withSession } from '../session.ts';

interface TokenFlags {
  readonly duration?: string;
  readonly audience?: readonly string[];
  readonly boundObjectKind?: string;
  readonly boundObjectName?: string;
  readonly boundObjectUid?: string;
}

export function registerCreateToken(create: Command): void {
  create
    .command('token')
    .description('Make a token of a service account and print it; the server keeps no copy')
    .argument('<account>', 'the service account')
    .option('--duration <span>', 'the lifetime, from 10m to 30d (default: 1h)')
    .option('--audience <name>', 'the audience, instead of the API server; may be given several times', collect)
    .option('--bound-object-kind <kind>', 'Pod, Secret or Node: the token ends with that object')
    .option('--bound-object-name <name>', 'the name of the object')
    .option('--bound-object-uid <uid>', 'the uid of the object')
    .action(async (name: string, flags: TokenFlags, command: Command) => {
      const spec = specOf(flags);
      await withSession(command, async ({ client, namespace }) => {
        const { token = '' } = await client.serviceAccounts.createToken({ namespace, name }, spec);
        process.stdout.write(`${token}\n`);
      });
    });
}

function specOf({ duration, audience, boundObjectKind: kind, boundObjectName: name, boundObjectUid: uid }: TokenFlags) {
  if ((kind === undefined) !== (name === undefined))
    throw badRequest('--bound-object-kind and --bound-object-name belong together');
  return {
    ...(audience && { audiences: [...audience] }),
    ...(duration !== undefined && { expirationSeconds: Math.floor(parseDuration(duration) / 1_000) }),
    ...(kind !== undefined && { boundObjectRef: { kind, name, ...(uid !== undefined && { uid }) } }),
  };
}
