// Reads the list of Kubernetes' published protobuf fields. Used by hack/update-kubernetes-fields and
// test/conformance/proto-numbers.test.ts.

/** `{ "core.v1": { "HostIP": "1 ip string" } }`: every field of a message, as number, name and type, between "; ". */
export function parseFields(text) {
  const groups = {};
  let messages;
  let message;
  for (const line of text.split('\n')) {
    const field = line.match(/^ {2}(\d+) (\S+) (map<[^>]+>|\S+)/);
    if (line.startsWith('# ')) messages = groups[line.slice(2).trim()] = {};
    else if (field) messages[message] += `${messages[message] ? '; ' : ''}${field.slice(1).join(' ')}`;
    else if (messages && line.trim()) {
      message = line.trim();
      messages[message] = '';
    }
  }
  return groups;
}
