import { createRequire } from 'node:module';
import type { Server } from '@grpc/grpc-js';
import type { ReflectionService } from '@grpc/reflection';
import { WireReader } from '../../api/codec/wire-reader.ts';
import { FairShare } from '../limits/fair-share.ts';
import { perLevel } from '../limits/levels.ts';
import type { CallPipeline } from './call-pipeline.ts';
import { addLibraryService } from './library-service.ts';

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

const versions = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

/**
 * Bounds the streams of a priority level, so that what they may hold (a message each way) stays small; no user is
 * refused the first `least`.
 */
const STREAMS = { busyAt: 64, least: 4 };

/**
 * Serves reflection (v1 and v1alpha) for the services of the API to authenticated callers, as calls of the API are
 * served. The library and the file descriptors are read at the first call.
 */
export function addReflection(server: Server, services: readonly string[], pipeline: Pick<CallPipeline, 'guard'>): void {
  const shares = perLevel(() => new FairShare(STREAMS));
  let files: PackageDefinition | undefined;
  for (const name of versions) {
    addLibraryService(server, {
      name,
      methods: { ServerReflectionInfo: { requestStream: true, responseStream: true } },
      guard: () => pipeline.guard({ shape: 'stream', path: '/reflection', shares }),
      async prepare() {
        files ??= describedFiles((await import('../../api/generated/file-descriptors.ts')).fileDescriptorSet);
      },
      load(collector) {
        const library = createRequire(import.meta.url)('@grpc/reflection') as typeof import('@grpc/reflection');
        const reflection = new library.ReflectionService(files!, { services: [...services] });
        reflection.addToServer(collector as Server);
      },
    });
  }
}

/**
 * The files of proto/ as the library reads them. It only looks at `fileDescriptorProtos`; those that proto-loader would
 * put there have no imports and names that other tools cannot resolve.
 */
function describedFiles(fileDescriptorSet: string): PackageDefinition {
  const set = new WireReader(Buffer.from(fileDescriptorSet, 'base64'));
  const fileDescriptorProtos: Buffer[] = [];
  while (set.next()) fileDescriptorProtos.push(Buffer.from(set.value()));
  return { files: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos } };
}
