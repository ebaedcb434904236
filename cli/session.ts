import type { Command } from 'commander';
import { badRequest } from '../api/errors/index.ts';
import type { Client } from '../client/index.ts';
import { parseDuration } from './args/duration.ts';
import { certificateNotice } from './config/certificate-notice.ts';

/** The flags that every command understands. */
export interface GlobalFlags {
  readonly context?: string;
  readonly namespace?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly requestTimeout?: string;
}

/** A connection to the server that the current context names. */
export interface Session {
  readonly client: Client;
  /** The namespace to work in: --namespace, else the context's, else "default". */
  readonly namespace: string;
  /** Whether the command line named it. */
  readonly namespaceGiven: boolean;
  /** The API server's address, for messages. */
  readonly address: string;
  /** The authority that signed its certificate, PEM. */
  readonly ca: string;
  /** Runs with the warnings of the server reworded, e.g. with the place in a manifest that they are about. */
  rewording(reword: (warning: string) => string, run: () => Promise<void>): Promise<void>;
}

/** Connects, runs, and closes the connection whatever happens. Warnings of the server go to standard error. */
export async function withSession(command: Command, run: (session: Session) => Promise<void>): Promise<void> {
  // Commands that do not connect (help, version) do not pay for what connects.
  const [{ connectBriefly }, { loadContext }] = await Promise.all([
    import('../client/connect-briefly.ts'),
    import('../client/config/config.ts'),
  ]);
  const flags = command.optsWithGlobals<GlobalFlags>();
  const { name, namespace, options, warnings } = await loadContext(flags.context);
  for (const warning of warnings) process.stderr.write(`Warning: ${warning}\n`);
  const impersonate = impersonation(flags);
  const given = givenNamespace(flags);
  let reword = (warning: string): string => warning;
  const onWarning = (text: string): void => void process.stderr.write(`Warning: ${reword(text)}\n`);
  const notice = certificateNotice(name, options.cert, Date.now());
  if (notice !== undefined) onWarning(notice);
  const requestTimeoutMs = flags.requestTimeout === undefined ? undefined : parseRequestTimeout(flags.requestTimeout);
  const client = connectBriefly({ ...options, userAgent: 'berth-cli', onWarning, impersonate, requestTimeoutMs });
  try {
    await run({
      client,
      namespace: given ?? namespace,
      namespaceGiven: given !== undefined,
      address: options.address,
      ca: options.ca,
      async rewording(next, inner) {
        const before = reword;
        reword = next;
        try {
          await inner();
        } finally {
          reword = before;
        }
      },
    });
  } finally {
    client.close();
  }
}

/** What --namespace names. An empty name, as of an unset variable, is that of the context, as for kubectl. */
export function givenNamespace({ namespace }: GlobalFlags): string | undefined {
  return namespace === '' ? undefined : namespace;
}

function impersonation({
  as,
  asGroup = [],
}: GlobalFlags): { readonly user: string; readonly groups: readonly string[] } | undefined {
  if (as === undefined && asGroup.length > 0) throw badRequest('--as-group needs a user as well: --as USER');
  return as === undefined ? undefined : { user: as, groups: asGroup };
}

/** As kubectl reads it: a span, or a number of seconds; 0 is no bound. */
function parseRequestTimeout(text: string): number {
  try {
    return Math.ceil(parseDuration(text));
  } catch {
    throw badRequest(`--request-timeout takes seconds or a span of time, e.g. 30, 1s, 2m or 1h30m; 0 is no bound: not "${text}"`);
  }
}

/** Aborts on Ctrl-C, so that streams end in order. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('SIGINT', () => controller.abort());
  process.once('SIGTERM', () => controller.abort());
  return controller.signal;
}
