import { loadContext } from '../../client/config/config.ts';
import { findLocalSocket } from '../../client/connection/local-socket.ts';
import { callOnce } from '../../client/connection/single-call.ts';
import { usualChunkSize } from '../args/usual-chunk-size.ts';
import { certificateNotice } from '../config/certificate-notice.ts';
import { createTablePrinter } from '../printers/table.ts';
import { type PlainGet, readPlainGet } from './get-words.ts';
import { getRequestBytes, listRequestBytes, tableOfList, tableOfObject } from './table-messages.ts';

/** A server that takes longer is asked by the whole program, which waits as long as it is told to. */
const timeoutMs = 10_000;

/**
 * What the most used commands print when nothing is unusual, found out without the whole program, whose loading is most
 * of what they cost. Undefined when the whole program is to run them: for words that this one does not know, for
 * everything that goes wrong, and for all that asks for another sentence than the table.
 */
export async function answerQuickly(words: readonly string[]): Promise<string | undefined> {
  const get = readPlainGet(words);
  if (get === undefined) return undefined;
  try {
    return await answerGet(get);
  } catch {
    // The whole program meets the same, and says it.
    return undefined;
  }
}

async function answerGet(get: PlainGet): Promise<string | undefined> {
  const context = await loadContext(get.context);
  const { options, socket, warnings } = context;
  const local = findLocalSocket(socket, options);
  // A server renews the certificate in its data directory long before there is anything to say of it.
  const notice = local ? undefined : certificateNotice(context.name, options.cert, Date.now());
  if (warnings.length > 0 || notice !== undefined) return undefined;
  const { kind, name, selector } = get;
  const namespace = get.namespaced && !get.allNamespaces ? (get.namespace ?? context.namespace) : undefined;
  const [method, request] =
    name === undefined
      ? ['List', listRequestBytes({ kind, namespace, selector, limit: usualChunkSize })]
      : ['Get', getRequestBytes({ kind, namespace, name })];
  const calling = { ...options, userAgent: 'berth-cli' };
  const path = `/berth.meta.v1.Objects/${method}`;
  const answer =
    (local && (await callOnce({ ...calling, local }, path, request, timeoutMs))) ??
    (await callOnce(calling, path, request, timeoutMs));
  const table = answer && (name === undefined ? tableOfList(answer) : tableOfObject(answer));
  if (!table?.rows?.length) return undefined;
  const print = createTablePrinter(table.columns ?? [], {
    ...{ wide: get.wide, headers: get.headers, showLabels: get.showLabels, namePrefix: '' },
    showNamespace: get.allNamespaces && get.namespaced,
    now: () => new Date(),
  });
  return print(table.rows);
}
