import { createRequire } from 'node:module';
import type { Server } from '@grpc/grpc-js';
import type { HealthImplementation } from 'grpc-health-check';
import type { CallPipeline } from './call-pipeline.ts';
import { addLibraryService } from './library-service.ts';

const unary = { requestStream: false, responseStream: false };

/**
 * The standard health service of the whole server: NOT_SERVING until the returned function says otherwise. Needs no
 * credentials; calls with credentials count against their user, the others against their address.
 */
export function addHealth(server: Server, pipeline: Pick<CallPipeline, 'guard'>): (serving: boolean) => void {
  let status: 'SERVING' | 'NOT_SERVING' = 'NOT_SERVING';
  let health: HealthImplementation | undefined;
  addLibraryService(server, {
    name: 'grpc.health.v1.Health',
    methods: { Check: unary, List: unary, Watch: { requestStream: false, responseStream: true } },
    guard: (isStream) => pipeline.guard({ shape: isStream ? 'stream' : 'unary', anonymous: true }),
    load(collector) {
      const library = createRequire(import.meta.url)('grpc-health-check') as typeof import('grpc-health-check');
      health = new library.HealthImplementation({ '': status });
      health.addToServer(collector as Server);
    },
  });
  return (serving) => {
    status = serving ? 'SERVING' : 'NOT_SERVING';
    health?.setStatus('', status);
  };
}
