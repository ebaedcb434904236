import { join } from 'node:path';
import { type Command, Option } from 'commander';
import { fromRfc3339, toMillis } from '../../api/meta/time.ts';
import { parseDuration } from '../../cli/args/duration.ts';
import { resolveKind } from '../../cli/args/resource-args.ts';
import { plainTable } from '../../cli/printers/plain-table.ts';
import { ExitWith } from '../../cli/program/failure.ts';
import { type GlobalFlags, givenNamespace, interruptSignal } from '../../cli/session.ts';
import { type AuditFilter, auditCells, auditHeadings, isShown } from '../audit/audit-filter.ts';
import { parseLine, readAudit } from '../audit/read-audit.ts';
import { defaultDataDir } from '../paths.ts';

interface AuditFlags {
  readonly dataDir: string;
  readonly user?: string;
  readonly verb?: string;
  readonly kind?: string;
  readonly since?: string;
  readonly follow?: boolean;
  readonly output?: 'json';
}

export function registerAudit(program: Command): void {
  program
    .command('audit')
    .description('Show the audit log of the server on this machine')
    .option('--data-dir <folder>', 'where the state of the server lives', defaultDataDir())
    .option('--user <name>', 'only what this user did')
    .option('--verb <verb>', 'only this: create, update, patch, delete, get ...')
    .option('--kind <type>', 'only what was done to objects of this type')
    .option('--since <when>', 'only what is newer: 1h, or a time such as 2026-01-31T12:00:00Z')
    .option('-f, --follow', 'follow new entries')
    .addOption(new Option('-o, --output <format>', 'json: the lines as they are').choices(['json']))
    .action(async (flags: AuditFlags, command: Command) => {
      const namespace = givenNamespace(command.optsWithGlobals<GlobalFlags>());
      await showAudit(flags, {
        user: flags.user,
        verb: flags.verb,
        resource: flags.kind === undefined ? undefined : resolveKind(flags.kind).plural,
        namespace,
        since: flags.since === undefined ? undefined : readSince(flags.since),
      });
    });
}

function readSince(text: string): number {
  const time = fromRfc3339(text);
  return time ? toMillis(time) : Date.now() - parseDuration(text);
}

/** So many rows have their widths in common; those that follow keep them. */
const rowsAtOnce = 1_000;

async function showAudit({ dataDir, follow = false, output }: AuditFlags, filter: AuditFilter): Promise<void> {
  const interrupted = follow ? interruptSignal() : new AbortController().signal;
  let rows: string[][] = [];
  let isFirst = true;
  const flush = (): void => {
    if (rows.length > 0) process.stdout.write(plainTable(isFirst ? auditHeadings : undefined, rows));
    isFirst &&= rows.length === 0;
    rows = [];
  };
  for await (const text of readAudit({ path: join(dataDir, 'logs', 'audit.log'), follow, signal: interrupted, idle: flush })) {
    const line = parseLine(text);
    if (!line || !isShown(line, filter)) continue;
    if (output === 'json') process.stdout.write(`${text}\n`);
    else if (rows.push(auditCells(line)) >= rowsAtOnce) flush();
  }
  flush();
  if (interrupted.aborted) throw new ExitWith(130);
}
