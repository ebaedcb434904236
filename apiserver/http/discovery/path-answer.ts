import type { IncomingHttpHeaders } from 'node:http';

export interface PathQuestion {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

export interface PathAnswer {
  readonly code: number;
  readonly contentType: string;
  readonly body?: Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export function jsonAnswer(value: object): PathAnswer & { readonly body: Buffer } {
  return { code: 200, contentType: 'application/json', body: Buffer.from(JSON.stringify(value)) };
}

/** As Kubernetes writes what people read. */
export function indented(value: object): PathAnswer & { readonly body: Buffer } {
  return { ...jsonAnswer(value), body: Buffer.from(JSON.stringify(value, null, 2)) };
}

/** The answer with an ETag; without its body for a client that has it. */
export function withTag(asked: IncomingHttpHeaders, tag: string, answer: PathAnswer): PathAnswer {
  const etag = `"${tag}"`;
  const headers = { ...answer.headers, etag };
  const known = (asked['if-none-match'] ?? '').split(',', 32).map((each) => each.trim().replace(/^W\//, ''));
  if (!known.includes(etag)) return { ...answer, headers };
  return { code: 304, contentType: answer.contentType, headers };
}
