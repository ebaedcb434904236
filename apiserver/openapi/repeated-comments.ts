import { messageShape } from '../../api/codec/message-shapes.ts';

/** What stands above messages (under "") and fields in the protos. */
export type Comments = Readonly<Record<string, Readonly<Record<string, string>>>>;

const known = new WeakMap<Comments, ReadonlySet<string>>();

/**
 * The messages whose one sentence a field that holds them says as well: `kubectl explain` of the field shows both, one
 * behind the other.
 */
export function repeatedComments(comments: Comments): ReadonlySet<string> {
  let found = known.get(comments);
  if (!found) {
    found = new Set(repeated(comments));
    known.set(comments, found);
  }
  return found;
}

function* repeated(comments: Comments): Iterable<string> {
  const messages = new Map<string, Set<string>>();
  for (const [message, { '': said }] of Object.entries(comments)) {
    if (!said || firstSentence(said) !== said) continue;
    messages.set(said, (messages.get(said) ?? new Set()).add(message));
  }
  for (const [message, said] of Object.entries(comments))
    for (const [field, comment] of Object.entries(said)) {
      const same = field === '' ? undefined : messages.get(firstSentence(comment));
      const held = same === undefined ? undefined : heldBy(message, field);
      if (held !== undefined && same?.has(held)) yield held;
    }
}

const firstSentence = (comment: string): string => /^.*?\.(?= |$)/s.exec(comment)?.[0] ?? comment;

/** Undefined for a field that holds no message, and in a service, which is none. */
function heldBy(message: string, field: string): string | undefined {
  return messageShape(message)
    .fields.find(({ name }) => name === field)
    ?.message()?.name;
}
