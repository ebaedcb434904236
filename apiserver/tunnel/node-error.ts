import { decodeMessage } from '../../api/codec/message.ts';
import { ApiError, type ErrorCode } from '../../api/errors/index.ts';
import type { ErrorInfo, Status } from '../../api/generated/types.ts';
import { codes } from '../calls/codes.ts';

/** A google.rpc.Status that an agent sent, as the ApiError that the client shall get. */
export function fromStatus(status: Status): ApiError {
  const [code] = Object.entries(codes).find(([, number]) => number === status.code) ?? ['INTERNAL'];
  const info = (status.details as { type_url?: string; value?: Uint8Array }[] | undefined)?.find((each) =>
    each.type_url?.endsWith('/google.rpc.ErrorInfo'),
  );
  const reason = info?.value ? decodeMessage<ErrorInfo>('google.rpc.ErrorInfo', info.value).reason : undefined;
  return new ApiError(code as ErrorCode, reason ?? 'NodeError', status.message || 'the node could not serve the stream');
}
