/** What Kubernetes says of an object that names itself, or its namespace, otherwise than the path of the request. */
export function otherPlaceText(key: 'name' | 'namespace', said: string, asked: string): string {
  return key === 'name'
    ? `the name of the object (${said}) does not match the name on the URL (${asked})`
    : 'the namespace of the provided object does not match the namespace sent on the request';
}
