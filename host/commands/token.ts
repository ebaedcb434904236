import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { isNotFound, isUnimplemented } from '../../api/errors/index.ts';
import {
  type BootstrapToken,
  bootstrapTokenSecret,
  bootstrapTokenType,
  parseTokenText,
  readBootstrapToken,
  tokenSecretName,
} from '../../api/kinds/secret/bootstrap-token.ts';
import { namespaces } from '../../api/meta/well-known.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { type GlobalFlags, type Session, withSession } from '../../cli/session.ts';
import { signerHash } from '../certs/tables.ts';
import { readRecord } from '../installation/installation-record.ts';
import { decideJoinAddress, joinHost, ownAddress } from '../join/join-address.ts';
import { defaultDataDir, parseListen } from '../paths.ts';

interface CreateFlags extends GlobalFlags {
  readonly ttl: number;
  readonly description?: string;
  readonly address?: string;
  readonly dataDir: string;
}

const forever = 0;
const defaultTtl = '24h';

export function registerToken(program: Command): void {
  const token = program.command('token').description('Manage the tokens for joining machines');
  token
    .command('create')
    .description('Make a token, and print the line to run on the machine that joins')
    .addOption(
      new Option('--ttl <span>', 'the lifetime, e.g. 1h30m; 0: until it is deleted')
        .argParser(parseTtl)
        .default(parseTtl(defaultTtl), defaultTtl),
    )
    .option('--description <text>', 'what it is for')
    .option('--address <address>', "the server's HOST[:PORT] for the line, where it is not the one that is found")
    .option('--data-dir <folder>', "where this machine's installation lives", defaultDataDir())
    .action((_flags, command: Command) =>
      withSession(command, (session) => create(session, command.optsWithGlobals<CreateFlags>())),
    );
  token
    .command('list')
    .description('Show the tokens, without their secrets')
    .action((_flags, command: Command) => withSession(command, list));
  token
    .command('delete <token...>')
    .description('Delete tokens, by id or full token: they permit no further joins; joined machines stay')
    .action((names: string[], _flags, command: Command) => withSession(command, (session) => remove(session, names)));
}

function parseTtl(text: string): number {
  const ms = text === '0' ? forever : parseDuration(text);
  if (ms === forever || ms >= 60_000) return ms;
  throw new InvalidArgumentError('give a span of at least 1m such as 24h, or 0 for no end');
}

/** Nothing but the line goes to standard output, so that it can be piped and pasted. */
async function create({ client, address: context, ca }: Session, flags: CreateFlags): Promise<void> {
  const address = flags.address === undefined ? findAddress(context, flags) : givenAddress(flags.address);
  const [id, secret] = [randomText(6), randomText(16)];
  const expiresAt = flags.ttl === forever ? undefined : Date.now() + flags.ttl;
  const token: BootstrapToken = { id, secret, expiresAt, description: flags.description ?? '', authenticates: true };
  await client.secrets.create(bootstrapTokenSecret(token));
  // The authority that signs now: the context may still trust the previous one.
  const trusted = await client.certificates.authorities().catch((error: unknown) => {
    if (isUnimplemented(error)) return ca;
    throw error;
  });
  process.stdout.write(`berth join ${address} --token ${id}.${secret} --ca-hash ${signerHash(trusted)}\n`);
  if (!process.stdout.isTTY) return;
  const end = expiresAt === undefined ? 'until you delete it' : `until ${new Date(expiresAt).toLocaleString()}`;
  process.stderr.write(`\nRun it on each machine that is to join; the token is good ${end}. berth token delete ${id} ends it.\n`);
}

function findAddress(context: string, flags: CreateFlags): string {
  const found = decideJoinAddress({ context, record: readRecord(resolve(flags.dataDir)), own: ownAddress() });
  if ('problem' in found) throw new ExitWith(1, found.problem);
  return found.address;
}

function givenAddress(text: string): string {
  const at = parseListen(text) ?? parseListen(`${text}:7443`);
  if (at === undefined) throw new ExitWith(1, `--address "${text}" must be HOST or HOST:PORT, an IPv6 address in brackets`);
  return joinHost(at.host, at.port);
}

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomText(length: number): string {
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join('');
}

async function list({ client }: Session): Promise<void> {
  const { items } = await client.secrets.list({ namespace: namespaces.system, fieldSelector: `type=${bootstrapTokenType}` });
  const tokens = items.map(readBootstrapToken).filter((token) => token !== undefined);
  if (tokens.length === 0) return void process.stderr.write('There are no tokens; "berth token create" makes one.\n');
  const rows = tokens.map(({ id, expiresAt, description }) => [id, expiresText(expiresAt), description]);
  const widths = [0, 1].map((at) => Math.max(...[['TOKEN', 'EXPIRES', ''], ...rows].map((row) => row[at]!.length)) + 3);
  for (const [id = '', expires = '', description = ''] of [['TOKEN', 'EXPIRES', 'DESCRIPTION'], ...rows])
    process.stdout.write(`${`${id.padEnd(widths[0]!)}${expires.padEnd(widths[1]!)}${description}`.trimEnd()}\n`);
}

function expiresText(expiresAt: number | undefined): string {
  if (expiresAt === undefined) return 'never';
  return new Date(expiresAt).toISOString().replace(/\.\d+Z$/, 'Z');
}

async function remove({ client }: Session, names: readonly string[]): Promise<void> {
  const ids = names.map((name) => {
    const id = parseTokenText(name)?.id ?? (/^[a-z0-9]{6}$/.test(name) ? name : undefined);
    if (id === undefined)
      throw new ExitWith(1, `"${name}" is no token: give its id, as "berth token list" shows it, or the whole token`);
    return id;
  });
  for (const id of ids) {
    try {
      await client.secrets.delete({ namespace: namespaces.system, name: tokenSecretName(id) });
    } catch (error) {
      if (isNotFound(error)) throw new ExitWith(1, `there is no token ${id}; it may have expired`);
      throw error;
    }
    process.stdout.write(`token ${id} deleted\n`);
  }
}
