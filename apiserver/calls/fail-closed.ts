import { internal } from '../../api/errors/index.ts';

interface Asking {
  readonly authorized: boolean;
}

/** Fails if the handler never authorized: a forgotten check closes the method. */
export function requireAuthorized({ authorized }: Asking): void {
  if (!authorized) throw internal('the method asks for no permission');
}

/** Makes the first message of a stream fail unless its handler has authorized. */
export function guardFirstWrite(call: { write(...args: never[]): boolean }, context: Asking): void {
  const { write } = call;
  call.write = (...args) => {
    requireAuthorized(context);
    call.write = write;
    return write.apply(call, args);
  };
}
