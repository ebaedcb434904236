import { performance } from 'node:perf_hooks';
import { encodeMessage } from '../../api/codec/message.ts';
import { fieldsOf, textOf } from './event-reader.ts';
import { LeanConnection, type LeanTarget } from './lean-connection.ts';

const LIST = '/berth.core.v1.Pods/List';
const METADATA = 1;
const ITEMS = 2;
/** In ListMeta. */
const VERSION = 2;
const CONTINUE = 3;

export interface ListTimes {
  readonly items: number;
  readonly pages: number;
  readonly firstMs: number;
  readonly allMs: number;
  readonly resourceVersion: string;
  readonly answers: readonly Buffer[];
}

/** Lists the pods of the namespace "default", page by page as the server cuts them. */
export async function listPods(connection: LeanConnection): Promise<ListTimes> {
  const begin = performance.now();
  let [items, pages, firstMs, token, resourceVersion] = [0, 0, 0, '', ''];
  const answers: Buffer[] = [];
  do {
    const options = token ? { continue: token } : {};
    const page = await connection.unary(LIST, encodeMessage('berth.meta.v1.ListRequest', { namespace: 'default', options }));
    if (pages++ === 0) firstMs = performance.now() - begin;
    answers.push(page);
    token = '';
    for (const { number, content } of fieldsOf(page)) {
      if (number === ITEMS) items++;
      if (number !== METADATA) continue;
      token = textOf(content, CONTINUE);
      resourceVersion = textOf(content, VERSION);
    }
  } while (token);
  return { items, pages, firstMs, allMs: performance.now() - begin, resourceVersion, answers };
}

/** The version that a watch begins with. */
export async function newestVersion(target: LeanTarget): Promise<string> {
  const connection = await LeanConnection.open(target);
  const { resourceVersion } = await listPods(connection);
  connection.close();
  return resourceVersion;
}
