import { X509Certificate } from 'node:crypto';
import { connect as connectHttp2 } from 'node:http2';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls, type DetailedPeerCertificate, type TLSSocket } from 'node:tls';
import { type Endpoint, type Handshake, JoinProblem } from './judge-server.ts';

/** A machine that drops what comes does not answer; how long the first packet is waited for. */
const connectMs = 5_000;

/** Connects over TCP. Throws a JoinProblem that says what is in the way. */
export async function reach({ host, port }: Endpoint): Promise<Socket> {
  const socket = connectTcp({ host, port });
  try {
    await settled(socket, 'connect', connectMs);
    return socket;
  } catch (error) {
    socket.destroy();
    throw new JoinProblem(whyUnreachable({ host, port }, error));
  }
}

/** Why a connection does not come about, and where to look. */
export function whyUnreachable({ host, port }: Endpoint, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const where = `${host}, port ${port} (TCP)`;
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens at ${where}: is it the address that "berth token create" printed? The server may listen on its own machine only: there, "berth up --advertise ${host}"`;
    case 'ETIMEDOUT':
      return `${where} does not answer: the machine is off, or a firewall on the way drops the packets; port ${port} must be open to this machine`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return `there is no way to ${where} from this machine (${code}): is it on the same network, and is the machine on?`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `the name ${host} cannot be resolved on this machine (${code}): use the server's address`;
    case 'ECONNRESET':
      return `${where} breaks the connection off: a firewall, or something that is no Berth server`;
    default:
      return `${where} cannot be reached: ${(error as Error).message}`;
  }
}

/**
 * Completes the TLS handshake without trust, and keeps the certificates that were shown.
 * Throws a JoinProblem for what is no Berth server.
 */
export async function shakeHands(
  socket: Socket,
  { host, port }: Endpoint,
): Promise<{ readonly tls: TLSSocket; readonly shown: Handshake }> {
  // What is shown is judged below, before anything is said.
  const tls = connectTls({
    socket,
    servername: isIP(host) ? 'localhost' : host,
    rejectUnauthorized: false,
    ALPNProtocols: ['h2'],
  });
  try {
    await settled(tls, 'secureConnect', connectMs);
  } catch (error) {
    tls.destroy();
    throw new JoinProblem(
      `what listens at ${host}:${port} is no Berth server: it does not speak TLS as one (${(error as Error).message})`,
    );
  }
  return { tls, shown: { chain: chainOf(tls), speaksHttp2: tls.alpnProtocol === 'h2' } };
}

function chainOf(tls: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = [];
  let at: DetailedPeerCertificate | undefined = tls.getPeerCertificate(true);
  while (at?.raw && !chain.some(({ raw }) => raw.equals(at!.raw))) {
    chain.push(new X509Certificate(at.raw));
    at = at.issuerCertificate;
  }
  return chain;
}

/**
 * The server's clock, by the Date of an answer that needs no credentials; undefined when it has none. In ms since 1970.
 */
export async function askTime(tls: TLSSocket, { host, port }: Endpoint): Promise<number | undefined> {
  const session = connectHttp2(`https://${host}:${port}`, { createConnection: () => tls });
  try {
    return await new Promise<number | undefined>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer')), connectMs);
      const call = session.request({
        ':method': 'POST',
        ':path': '/grpc.health.v1.Health/Check',
        'content-type': 'application/grpc',
        te: 'trailers',
      });
      const end = (finish: () => void): void => {
        clearTimeout(timer);
        finish();
      };
      call.once('response', (headers) =>
        end(() => {
          const isGrpc = String(headers['content-type'] ?? '').startsWith('application/grpc');
          const at = Date.parse(String(headers.date ?? ''));
          if (isGrpc) resolve(Number.isNaN(at) ? undefined : at);
          else reject(new Error('it does not speak gRPC'));
        }),
      );
      for (const one of [call, session]) one.once('error', (error) => end(() => reject(error)));
      // An empty HealthCheckRequest.
      call.end(Buffer.alloc(5));
    });
  } catch (error) {
    throw new JoinProblem(`what listens at ${host}:${port} is no Berth server: ${(error as Error).message}`);
  } finally {
    session.destroy();
  }
}

/** Resolves with the event; rejects with the first error, or like a connection without an answer. */
function settled(socket: Socket, event: 'connect' | 'secureConnect', ms: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      socket.removeListener(event, onDone);
      socket.removeListener('error', finish);
      socket.removeListener('close', onClose);
      if (error) reject(error);
      else resolve();
    };
    const onDone = (): void => finish();
    const onClose = (): void => finish(Object.assign(new Error('the connection was broken off'), { code: 'ECONNRESET' }));
    const timer = setTimeout(() => finish(Object.assign(new Error(`no answer for ${ms / 1000} s`), { code: 'ETIMEDOUT' })), ms);
    socket.once(event, onDone);
    socket.once('error', finish);
    socket.once('close', onClose);
  });
}
