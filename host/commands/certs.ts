import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { badRequest } from '../../api/errors/index.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { type GlobalFlags, type Session, withSession } from '../../cli/session.ts';
import { joinedText, listText, signerHash } from '../certs/tables.ts';
import { readRecord } from '../installation/installation-record.ts';
import { defaultDataDir, installation } from '../paths.ts';

interface ListFlags extends GlobalFlags {
  readonly dataDir: string;
  readonly output?: 'json';
}

interface RenewFlags extends GlobalFlags {
  readonly all?: boolean;
  readonly ca?: boolean;
}

export function registerCerts(program: Command): void {
  const certs = program.command('certs').description("Show and renew the cluster's certificates");
  certs
    .command('list')
    .description("Show the server's certificates and with which ones clients come; on a machine that has joined, its own")
    .option('--data-dir <folder>', "where this machine's installation lives", defaultDataDir())
    .addOption(new Option('-o, --output <format>', 'json').choices(['json']))
    .action((_flags, command: Command) => list(command));
  certs
    .command('renew')
    .description("Renew the server's certificates now; they are also renewed automatically")
    .argument('[name...]', 'server, admin, scheduler, controllers')
    .option('--all', 'all of them')
    .option('--ca', 'put a new authority in the place of the one that signs; both count until "berth certs drop-ca"')
    .action(async (names: string[], _own: unknown, command: Command) => {
      const flags = command.optsWithGlobals<RenewFlags>();
      checkRenew(names, flags);
      await withSession(command, (session) => renew(session, names, flags));
    });
  certs
    .command('drop-ca')
    .description('End the rotation of the authority: certificates of the old one are no longer trusted')
    .option('--force', 'also when nodes or users have only a certificate of the old authority, and lose access')
    .action(async (flags: { readonly force?: boolean }, command: Command) => {
      await withSession(command, async ({ client }) => {
        await client.certificates.dropAuthority(flags.force === true);
        process.stdout.write('the old authority is dropped: only what the new one signed counts\n');
      });
    });
  certs
    .command('trust')
    .description("Take the cluster's authorities, as they are now, into the context")
    .action((_flags, command: Command) => withSession(command, (session) => trust(session, command.optsWithGlobals())));
}

async function list(command: Command): Promise<void> {
  const flags = command.optsWithGlobals<ListFlags>();
  const dataDir = resolve(flags.dataDir);
  const record = readRecord(dataDir);
  if (record?.joined !== undefined && flags.context === undefined) return listJoined(dataDir, record.nodeName, flags);
  await withSession(command, async ({ client }) => {
    const answer = await client.certificates.list();
    process.stdout.write(flags.output === 'json' ? `${JSON.stringify(answer, null, 2)}\n` : listText(answer, Date.now()));
  });
}

async function listJoined(dataDir: string, nodeName: string, { output }: ListFlags): Promise<void> {
  if (output !== undefined) throw badRequest('-o json is of the server: on a machine that has joined there is a table only');
  const { pki } = installation(dataDir);
  process.stdout.write(
    joinedText(nodeName, readOwn(join(pki, 'ca.crt')), readOwn(join(pki, `node-${nodeName}.pem`)), Date.now()),
  );
}

function readOwn(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') throw new ExitWith(1, `${path} is gone: join again with a new line of "berth token create"`);
    throw new ExitWith(1, `${path} cannot be read: ${message}${code === 'EACCES' ? '; only root and its owner may' : ''}`);
  }
}

function checkRenew(names: readonly string[], { all = false, ca = false }: RenewFlags): void {
  const wishes = [names.length > 0, all, ca].filter(Boolean).length;
  if (wishes === 1) return;
  throw badRequest(
    wishes === 0
      ? 'say what is to be made anew: server, admin, scheduler, controllers, or --all; or --ca for a new authority'
      : 'give names, or --all, or --ca: with a new authority everything is made anew',
  );
}

async function renew(session: Session, names: readonly string[], { ca = false, ...flags }: RenewFlags): Promise<void> {
  const { client } = session;
  const renewed = await client.certificates.renew(ca ? { authority: true } : { names });
  process.stdout.write(`made anew: ${renewed.join(', ')}\n`);
  if (!ca) return;
  await trust(session, flags);
  process.stderr.write(
    [
      '\nThe new authority signs, and the old one counts as well: everything goes on, also with old contexts and old lines of "berth token create".',
      'Agents get certificates of the new one within ten minutes; "berth certs list" shows who still comes with one of the old one.',
      '"berth up" on the server\'s machine gives you a new one; other users need one made by "berth create user".',
      'When no client needs the old one any more: berth certs drop-ca. It goes by itself in a year.\n',
    ].join('\n'),
  );
}

async function trust({ client }: Session, flags: GlobalFlags): Promise<void> {
  const { loadContext, setContextAuthorities } = await import('../../client/index.ts');
  const authorities = await client.certificates.authorities();
  const { name, options } = await loadContext(flags.context);
  if (options.ca === authorities) return void process.stdout.write(`context "${name}" has the authorities as they are\n`);
  await setContextAuthorities(name, authorities);
  process.stdout.write(`context "${name}" trusts ${signerHash(authorities)} now\n`);
}
