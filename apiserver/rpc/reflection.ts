import { createRequire } from 'node:module';
import type { Server } from '@grpc/grpc-js';
import type { ReflectionService } from '@grpc/reflection';
import { fileDescriptorSet } from '../../api/generated/file-descriptors.ts';
import { WireReader } from '../watch/wire.ts';
import type { AnyCall } from './caller.ts';
import { addLibraryService } from './library-service.ts';

type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

const versions = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

/**
 * Serves reflection (v1 and v1alpha) for the services of the API under the API's own rule: `admit` throws for a caller without
 * credentials. The library and the file descriptors are read when somebody first asks.
 */
export function addReflection(
  server: Server,
  services: readonly string[],
  admit: (call: AnyCall) => void,
  refuse: (error: unknown, call: AnyCall) => object,
): void {
  for (const name of versions) {
    addLibraryService(server, {
      name,
      methods: { ServerReflectionInfo: { requestStream: true, responseStream: true } },
      load(collector) {
        const library = createRequire(import.meta.url)('@grpc/reflection') as typeof import('@grpc/reflection');
        const reflection = new library.ReflectionService(describedFiles(), { services: [...services] });
        reflection.addToServer(collector as Server);
      },
      admit(call) {
        try {
          admit(call as unknown as AnyCall);
          return true;
        } catch (error) {
          call.emit('error', refuse(error, call as unknown as AnyCall));
          return false;
        }
      },
    });
  }
}

/**
 * The files of proto/ as the library reads them. It only looks at `fileDescriptorProtos`; those that proto-loader would put there have
 * no imports and names that other tools cannot resolve.
 */
function describedFiles(): PackageDefinition {
  const set = new WireReader(Buffer.from(fileDescriptorSet, 'base64'));
  const fileDescriptorProtos: Buffer[] = [];
  while (set.next()) fileDescriptorProtos.push(Buffer.from(set.value()));
  return { files: { format: 'Protocol Buffer 3 DescriptorProto', type: {}, fileDescriptorProtos } };
}
