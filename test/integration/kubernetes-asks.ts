import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { RunningServer } from './apiserver-harness.ts';

/** What a server answered over Kubernetes' HTTP API. */
export interface Answer {
  readonly code: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the JSON of any answer
  readonly json: any;
}

export interface Asked {
  readonly method?: string;
  readonly body?: string | Buffer | object;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** A bearer token, in place of the administrator's certificate. */
  readonly token?: string;
}

export type Ask = (path: string, asked?: Asked) => Promise<Answer>;

/** Asks a server as its administrator; bodies are JSON where they do not say otherwise. */
export function asks(server: () => RunningServer): Ask {
  return async (path, { method = 'GET', body, headers = {}, token } = {}) => {
    const { info, admin } = server();
    const [host, port] = info.kubernetes!.split(':');
    const { ca, cert, key } = admin;
    const sent = typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body;
    const length = { 'content-length': String(Buffer.byteLength(sent ?? '')) };
    const type = sent === undefined ? {} : { 'content-type': 'application/json', ...length };
    const asWho = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const options = { host, port, path, method, ca, agent: false, headers: { ...type, ...asWho, ...headers } };
    const call = request({ ...options, ...(token === undefined ? { cert, key } : {}) });
    call.end(sent);
    const [response] = (await once(call, 'response')) as [IncomingMessage];
    const pieces: Buffer[] = [];
    for await (const piece of response) pieces.push(piece as Buffer);
    const bytes = Buffer.concat(pieces);
    const text = bytes.toString('utf8');
    const isJson = response.headers['content-type']?.startsWith('application/json') ?? false;
    return {
      ...{ code: response.statusCode!, headers: response.headers, bytes, text },
      // Of a watch or a compressed answer there is none to read.
      get json() {
        return isJson && text ? JSON.parse(text) : undefined;
      },
    };
  };
}

/** The writes of objects; a patch is of a type such as "merge-patch+json". */
export const writes = (ask: Ask) => ({
  post: (path: string, body: object): Promise<Answer> => ask(path, { method: 'POST', body }),
  put: (path: string, body: object): Promise<Answer> => ask(path, { method: 'PUT', body }),
  patch: (path: string, type: string, body: object): Promise<Answer> =>
    ask(path, { method: 'PATCH', body, headers: { 'content-type': `application/${type}` } }),
});
