import type * as grpc from '@grpc/grpc-js';
import type { ConnectOptions } from './connect-options.ts';

type Coding = (value: Buffer) => Buffer;

/**
 * What carries calls: `Client` of the gRPC library, or another that answers as it does, such as that of a server in the
 * same process.
 */
export interface CallChannel {
  makeUnaryRequest(
    path: string,
    encode: Coding,
    decode: Coding,
    request: Buffer,
    metadata: grpc.Metadata,
    options: grpc.CallOptions,
    answer: (error: grpc.ServiceError | null, bytes?: Buffer) => void,
  ): grpc.ClientUnaryCall;
  makeServerStreamRequest(
    path: string,
    encode: Coding,
    decode: Coding,
    request: Buffer,
    metadata: grpc.Metadata,
    options: grpc.CallOptions,
  ): grpc.ClientReadableStream<Buffer>;
  makeBidiStreamRequest(
    path: string,
    encode: Coding,
    decode: Coding,
    metadata: grpc.Metadata,
    options: grpc.CallOptions,
  ): grpc.ClientDuplexStream<Buffer, Buffer>;
  close(): void;
}

/** What a client over a channel of its caller's takes of the options: who calls is the channel's to know. */
export type ChannelOptions = Pick<ConnectOptions, 'address' | 'impersonate' | 'leaseTerm' | 'requestTimeoutMs' | 'onWarning'>;
