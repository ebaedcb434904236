import type {
  handleBidiStreamingCall,
  Server,
  ServerDuplexStream,
  ServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { fileDescriptorSet } from '../../api/generated/file-descriptors.ts';
import { WireReader } from '../watch/wire.ts';
import type { AnyCall } from './caller.ts';

type Handler = handleBidiStreamingCall<unknown, unknown>;
type PackageDefinition = ConstructorParameters<typeof ReflectionService>[0];

/**
 * Serves reflection (v1 and v1alpha) for the services of the API under the API's own rule: `admit` throws for a caller without
 * credentials. The file descriptors are read when somebody first asks, because most servers are never asked.
 */
export function addReflection(
  server: Server,
  services: readonly string[],
  admit: (call: AnyCall) => void,
  refuse: (error: unknown, call: AnyCall) => object,
): void {
  let built: Map<string, Handler> | undefined;
  const handlers = (): Map<string, Handler> => {
    built ??= collect(new ReflectionService(describedFiles(), { services: [...services] })).handlers;
    return built;
  };
  const { definitions } = collect(new ReflectionService({}));
  for (const [path, definition] of definitions) {
    server.addService(definition, {
      ServerReflectionInfo: (call: ServerDuplexStream<unknown, unknown>) => {
        try {
          admit(call as unknown as AnyCall);
          handlers().get(path)!(call);
        } catch (error) {
          call.emit('error', refuse(error, call as unknown as AnyCall));
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

/** What the library would add to a server. */
function collect(reflection: ReflectionService): { definitions: Map<string, ServiceDefinition>; handlers: Map<string, Handler> } {
  const definitions = new Map<string, ServiceDefinition>();
  const handlers = new Map<string, Handler>();
  const addService = (definition: ServiceDefinition, implementation: UntypedServiceImplementation): void => {
    const path = definition.ServerReflectionInfo!.path;
    definitions.set(path, definition);
    handlers.set(path, implementation.ServerReflectionInfo as Handler);
  };
  reflection.addToServer({ addService } as unknown as Parameters<ReflectionService['addToServer']>[0]);
  return { definitions, handlers };
}
