import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A registry that has no image and refuses some: what it answers for a repository, in the registry protocol's words.
 */
export interface FakeRegistry {
  /** "127.0.0.1:PORT": the engine speaks plain HTTP to addresses of its own machine. */
  readonly host: string;
  close(): void;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}

const unknown: Refusal = { status: 404, code: 'MANIFEST_UNKNOWN', message: 'manifest unknown' };

/**
 * `refusals` by repository name; every other repository exists and has no manifest. A repository "hangs" never answers.
 */
export async function startFakeRegistry(refusals: Readonly<Record<string, Refusal>> = {}): Promise<FakeRegistry> {
  const server = createServer((request, response) => {
    const repository = /^\/v2\/(.+)\/manifests\//.exec(request.url ?? '')?.[1];
    if (repository === 'hangs') return;
    response.setHeader('content-type', 'application/json');
    if (repository === undefined) return response.end('{}');
    const { status, code, message } = refusals[repository] ?? unknown;
    response.statusCode = status;
    // Without a detail the engine forgets the message and says the code in words of its own.
    response.end(JSON.stringify({ errors: [{ code, message, detail: { repository } }] }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
