// Reads the flight service in version 4 with Olingo's client; prints what it found as JSON.
//
//     java -cp 'FOLDER/*' Flights4.java URL USER PASSWORD

import java.net.URI;
import java.util.StringJoiner;
import org.apache.olingo.client.api.ODataClient;
import org.apache.olingo.client.api.communication.ODataClientErrorException;
import org.apache.olingo.client.api.domain.ClientEntity;
import org.apache.olingo.client.api.domain.ClientEntitySet;
import org.apache.olingo.client.core.ODataClientFactory;
import org.apache.olingo.client.core.http.BasicAuthHttpClientFactory;
import org.apache.olingo.commons.api.edm.Edm;
import org.apache.olingo.commons.api.format.ContentType;

public class Flights4 {
    static ODataClient client = ODataClientFactory.getClient();

    static ClientEntitySet set(URI uri) {
        var request = client.getRetrieveRequestFactory().getEntitySetRequest(uri);
        return request.execute().getBody();
    }

    static ClientEntity entity(URI uri) {
        return client.getRetrieveRequestFactory().getEntityRequest(uri).execute().getBody();
    }

    static String text(ClientEntity entity, String property) {
        return entity.getProperty(property).getPrimitiveValue().toString();
    }

    public static void main(String[] words) throws Exception {
        String url = words[0].substring(0, words[0].length() - 1);
        client.getConfiguration().setHttpClientFactory(
            new BasicAuthHttpClientFactory(words[1], words[2]));
        client.getConfiguration().setDefaultPubFormat(ContentType.JSON);
        Edm types = client.getRetrieveRequestFactory().getMetadataRequest(url).execute().getBody();
        String container = types.getEntityContainer().getEntitySet("FlightCollection").getName();
        StringJoiner found = new StringJoiner(",", "{", "}");
        var flights = client.newURIBuilder(url).appendEntitySetSegment(container);
        found.add("\"all\":" + set(flights.build()).getEntities().size());
        String key = url + "/FlightCollection(carrid='AA',connid='0017',fldate=2011-06-01)";
        ClientEntity flight = entity(URI.create(key + "?$expand=flightCarrier"));
        found.add("\"price\":" + text(flight, "PRICE"));
        // without the description of types at hand, what is expanded is a part like any other
        var carrier = flight.getProperty("flightCarrier").getComplexValue();
        var name = carrier.get("CARRNAME").getPrimitiveValue();
        found.add("\"carrier\":\"" + name + "\"");
        URI dear = client.newURIBuilder(url).appendEntitySetSegment("FlightCollection")
            .filter("carrid eq 'LH'").orderBy("PRICE desc").select("carrid", "PRICE")
            .count(true).top(2).build();
        ClientEntitySet page = set(dear);
        StringJoiner keys = new StringJoiner(",", "[", "]");
        page.getEntities().forEach(one -> keys.add("\"" + text(one, "carrid") + "\""));
        found.add("\"dear\":" + keys);
        found.add("\"lufthansa\":" + page.getCount());
        URI led = client.newURIBuilder(url).appendEntitySetSegment("CarrierCollection")
            .appendKeySegment("QF").appendNavigationSegment("carrierFlights").build();
        found.add("\"flights_of_carrier\":" + set(led).getEntities().size());
        try {
            entity(URI.create(url + "/CarrierCollection('XX')"));
        } catch (ODataClientErrorException error) {
            found.add("\"missing\":" + error.getStatusLine().getStatusCode());
        }
        System.out.println(found);
    }
}
