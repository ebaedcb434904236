import type { Command } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import type { OutputFlags } from '../printers/formats.ts';
import type { ObjectOutput } from '../printers/output.ts';
import { readObjectOutput, withOutputFlags } from '../printers/output-flags.ts';
import { ExitWith } from '../program/failure.ts';
import { withSession } from '../session.ts';

interface CanIFlags {
  readonly list?: boolean;
  readonly quiet?: boolean;
  readonly allNamespaces?: boolean;
  readonly subresource?: string;
}

/** The identity and access of the user; with --as, of another user. */
export function registerAuth(program: Command): void {
  const auth = program.command('auth').description('Show your identity and your permissions');
  auth
    .command('can-i')
    .description('Say whether you may do something: can-i delete pods; exit code 1 when not')
    .argument('[verb]', 'get, list, watch, create, update, patch, delete, ...')
    .argument('[target]', 'RESOURCE, RESOURCE/NAME, or a path such as /apis')
    .option('--list', 'show everything that you may do in the namespace')
    .option('-q, --quiet', 'only the exit code')
    .option('-A, --all-namespaces', 'in all namespaces at once')
    .option('--subresource <name>', 'a part of the resource: log, exec, status, ...')
    .action(async (verb: string | undefined, target: string | undefined, flags: CanIFlags, command: Command) => {
      if (flags.list) await listRules(verb, command);
      else await answer(verb, target, flags, command);
    });
  const whoami = auth
    .command('whoami')
    .description('Show the user that the server authenticates you as')
    .action(async (flags: OutputFlags, command: Command) => {
      const output = await readObjectOutput(flags);
      await withSession(command, async ({ client }) => {
        const { username = '', groups = [] } = await client.reviews.whoAmI();
        const { plainTable } = await import('../printers/plain-table.ts');
        const rows = [
          ['Username', username],
          ['Groups', `[${groups.join(' ')}]`],
        ];
        process.stdout.write(output ? await document(output, username, groups) : plainTable(['ATTRIBUTE', 'VALUE'], rows));
      });
    });
  withOutputFlags(whoami, 'the whole answer: ');
}

async function document(output: ObjectOutput, username: string, groups: readonly string[]): Promise<string> {
  const review = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    status: { userInfo: { username, groups: [...groups] } },
  };
  const { printObjects } = await import('../printers/objects.ts');
  return printObjects([review], output, { single: true });
}

async function answer(verb: string | undefined, target: string | undefined, flags: CanIFlags, command: Command): Promise<void> {
  if (verb === undefined || target === undefined) throw badRequest('say what: can-i VERB RESOURCE[/NAME], or can-i --list');
  const { parseQuestion } = await import('../auth/question.ts');
  await withSession(command, async ({ client, namespace }) => {
    const words = { verb, target, subresource: flags.subresource, namespace: flags.allNamespaces ? '' : namespace };
    const { spec, warnings } = parseQuestion(words);
    for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
    const { allowed = false, reason = '' } = await client.reviews.canI(spec);
    if (!flags.quiet) process.stdout.write(allowed ? 'yes\n' : `no${reason === '' ? '' : ` - ${reason}`}\n`);
    if (!allowed) throw new ExitWith(1);
  });
}

async function listRules(verb: string | undefined, command: Command): Promise<void> {
  if (verb !== undefined) throw badRequest('--list shows everything: give no verb with it');
  const { rulesTable } = await import('../auth/rules-table.ts');
  await withSession(command, async ({ client, namespace }) => {
    const status = await client.reviews.rules(namespace);
    process.stdout.write(rulesTable(status));
    if (status.incomplete) process.stderr.write(`Warning: ${status.evaluationError}\n`);
  });
}
