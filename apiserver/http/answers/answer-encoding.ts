import { promisify } from 'node:util';
import { createGzip, type Gzip, gzip } from 'node:zlib';
import type { HttpRequest, HttpResponse } from '../http-call.ts';

/** Smaller answers are sent as they are: so does Kubernetes, since compressing them costs more than it saves. */
const FROM_BYTES = 128 * 1024;
/** As in Kubernetes: it compresses JSON to a tenth, and a higher level costs several times the processor's time. */
const LEVEL = 1;

/** What an answer that is compressed, or could have been, says of itself. */
export type EncodingHeaders = Readonly<Record<string, string>>;

const compressedHeaders: EncodingHeaders = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };

/** Whether the client reads gzip: by its name, or by the star, at a quality above zero. */
export function takesGzip({ headers }: Pick<HttpRequest, 'headers'>): boolean {
  const accepted = new Map<string, number>();
  for (const each of String(headers['accept-encoding'] ?? '').split(',', 16)) {
    const [name = '', ...parameters] = each.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    accepted.set(name, quality === undefined ? 1 : Number(quality.slice(2)));
  }
  return (accepted.get('gzip') ?? accepted.get('*') ?? 0) > 0;
}

const compress = promisify(gzip);

/** An answer in one piece as its client is to get it. Compressed beside the event loop. */
export function encodedFor(request: HttpRequest, bytes: Uint8Array): Encoded | Promise<Encoded> {
  if (bytes.length < FROM_BYTES || !takesGzip(request)) return { bytes };
  return compress(bytes, { level: LEVEL }).then((smaller) => ({ bytes: smaller, headers: compressedHeaders }));
}

export interface Encoded {
  readonly bytes: Uint8Array;
  readonly headers?: EncodingHeaders;
}

/** Takes the pieces of an answer whose length is not known, no faster than the client does. */
export interface AnswerOutput {
  /** Resolves when the bytes have left this process, or the client is gone. */
  write(bytes: Uint8Array | string): Promise<void>;
  end(last?: string): void;
}

/** The way to a client. `atLeast` is what is known of the answer's length. `begin` writes its head. */
export function outputTo(
  { request, response }: { readonly request: HttpRequest; readonly response: HttpResponse },
  atLeast: number,
  begin: (headers: EncodingHeaders) => void,
): AnswerOutput {
  const isCompressed = atLeast >= FROM_BYTES && takesGzip(request);
  begin(isCompressed ? compressedHeaders : {});
  return isCompressed ? new CompressedOutput(response) : plainOutput(response);
}

const plainOutput = (response: HttpResponse): AnswerOutput => ({
  write: (bytes) => written(response, bytes),
  end: (last) => void response.end(last),
});

class CompressedOutput implements AnswerOutput {
  readonly #response: HttpResponse;
  readonly #gzip: Gzip = createGzip({ level: LEVEL });
  /** The last of what has come out of the compressor. */
  #sent: Promise<void> = Promise.resolve();

  constructor(response: HttpResponse) {
    this.#response = response;
    this.#gzip.on('data', (bytes: Buffer) => {
      this.#sent = written(response, bytes);
    });
    this.#gzip.once('end', () => response.end());
    response.once('close', () => this.#gzip.destroy());
  }

  write(bytes: Uint8Array | string): Promise<void> {
    if (this.#response.destroyed || bytes.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      // A destroyed compressor calls nothing back.
      const done = (): void => {
        this.#gzip.removeListener('close', done);
        resolve(this.#sent);
      };
      this.#gzip.once('close', done);
      this.#gzip.write(bytes, done);
    });
  }

  end(last?: string): void {
    this.#gzip.end(last);
  }
}

/** Resolves when the bytes have left this process, or the client is gone. */
function written(response: HttpResponse, bytes: Uint8Array | string): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed || bytes.length === 0) {
      resolve();
      return;
    }
    const done = (): void => {
      response.removeListener('close', done);
      resolve();
    };
    response.once('close', done);
    response.write(bytes, done);
  });
}
