import { abortable } from '../../tunnel/abortable.ts';
import { stopping } from '../../tunnel/forward.ts';
import { type Forwarding, forwardConnection, portOf } from './port-forwarding.ts';
import type { SpdyConnection, SpdyConnectionOptions, SpdyStream } from './spdy/spdy-connection.ts';

/** Of one client: two for each of its connections. */
const mostStreams = 512;
/** How long a client may take for the second stream of a connection. */
const pairMs = 30_000;

interface Pair {
  data?: SpdyStream;
  error?: SpdyStream;
  timer?: NodeJS.Timeout;
}

/** Forwards connections, each of which the client opens as a stream for data and one for errors, until it is gone. */
export async function forwardSpdy(
  forwarding: Forwarding,
  open: (options: SpdyConnectionOptions) => SpdyConnection,
): Promise<void> {
  const pairs = new Map<string, Pair>();
  const connection = open({
    mostStreams,
    accept(stream) {
      const type = stream.headers.get('streamtype');
      const port = portOf(stream.headers.get('port'));
      if (port === undefined || (type !== 'data' && type !== 'error')) return undefined;
      const id = requestOf(stream, type);
      const pair = pairs.get(id) ?? {};
      if (pair[type]) return undefined;
      pair[type] = stream;
      return () => {
        pairs.set(id, pair);
        if (pair.data && pair.error) {
          clearTimeout(pair.timer);
          pairs.delete(id);
          void forwardPair(forwarding, port, pair.data, pair.error);
        } else {
          const giveUp = (): void => {
            clearTimeout(pair.timer);
            pairs.delete(id);
          };
          pair.timer = setTimeout(() => {
            giveUp();
            stream.reset();
          }, pairMs);
          stream.whenReset(giveUp);
        }
      };
    },
  });
  try {
    await abortable(connection.run(), forwarding.signal, stopping);
  } finally {
    connection.close();
  }
}

/** Clients before 1.2 give no id: their streams of one connection have consecutive numbers, the errors' first. */
function requestOf(stream: SpdyStream, type: 'data' | 'error'): string {
  return stream.headers.get('requestid') ?? `#${type === 'error' ? stream.id : stream.id - 2}`;
}

async function forwardPair(forwarding: Forwarding, port: number, data: SpdyStream, errors: SpdyStream): Promise<void> {
  const failure = await forwardConnection(forwarding, port, data);
  // A client that is gone is told nothing.
  const ends = async (): Promise<void> => {
    if (failure !== undefined) await errors.write(Buffer.from(failure));
    await data.end();
    await errors.end();
  };
  await ends().catch(() => {});
}
