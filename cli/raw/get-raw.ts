import { badRequest, isUnimplemented } from '../../api/errors/index.ts';
import type { ServerPage } from '../../client/index.ts';
import { writeAll } from '../logs/log-output.ts';
import { ExitWith } from '../program/failure.ts';
import type { Session } from '../session.ts';

/** Throws INVALID_ARGUMENT when more is said than --raw takes. */
export function checkRaw(path: string, words: readonly string[], others: Readonly<Record<string, unknown>>): void {
  if (!path.startsWith('/')) throw badRequest(`--raw takes a path that begins with "/", e.g. /readyz?verbose, not "${path}"`);
  if (words.length > 0) throw badRequest('arguments may not be passed when --raw is specified');
  const given = Object.keys(others).find((name) => others[name] !== undefined && others[name] !== false);
  if (given !== undefined) throw badRequest(`--raw and --${given} may not be specified together`);
}

/** Prints a page of the server as it is; one of health that is bad ends the command with 1. */
export async function printRaw({ client }: Session, path: string): Promise<void> {
  const { status, body } = await readPage(client.pages, path);
  if (status >= 400) throw new ExitWith(1, body.toString('utf8').trimEnd());
  await writeAll(process.stdout, body);
}

async function readPage(pages: Session['client']['pages'], path: string): Promise<ServerPage> {
  try {
    return await pages.get(path);
  } catch (error) {
    if (!isUnimplemented(error)) throw error;
    throw badRequest(
      'the server is older than this command and has no pages; its metrics are on its metrics port (docs/operations.md)',
    );
  }
}
